// The experiment as text: CodeMirror with YAML, the server's findings beside their lines, and completion from the schema.
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, type ChangeSet } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import { EditorView, basicSetup } from "codemirror";
import { type Schema, offered, pathAt } from "./schema.ts";
import type { Finding } from "./protocol.ts";

/** With the colours of the page, which are those of the light or the dark scheme. */
const COLOURED = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--link)" },
    { tag: [tags.comment, tags.lineComment], color: "var(--remark)" },
    { tag: [tags.string, tags.attributeValue], color: "var(--good)" },
    { tag: [tags.invalid], color: "var(--error)" },
  ]),
);

const BY_KNOB = Annotation.define<boolean>();

export class Editor {
  private readonly view: EditorView;
  private schema: Schema | null = null;

  constructor(parent: HTMLElement, text: string, edited: (byKnob: boolean, changes: ChangeSet) => void) {
    this.view = new EditorView({
      parent,
      doc: text,
      extensions: [
        basicSetup,
        yaml(),
        COLOURED,
        lintGutter(),
        autocompletion({ override: [(context) => this.complete(context)] }),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "the experiment file, YAML; Escape then Tab leaves it" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          edited(update.transactions.some((each) => each.annotation(BY_KNOB) === true), update.changes);
        }),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  know(schema: Schema): void {
    this.schema = schema;
  }

  /** Replaces a part of the text, as a knob does. */
  put(from: number, to: number, insert: string): void {
    this.view.dispatch({ changes: { from, to, insert }, annotations: BY_KNOB.of(true) });
  }

  /** Shows errors and warnings beside their lines. */
  mark(findings: Finding[]): void {
    const doc = this.view.state.doc;
    const marks: Diagnostic[] = findings
      .filter((each) => each.line !== null && each.line <= doc.lines)
      .map((each) => {
        const line = doc.line(each.line!);
        const from = line.from + (line.text.length - line.text.trimStart().length);
        const message = `${each.path ? `${each.path}: ` : ""}${each.message}\nhint: ${each.hint}`;
        return { from, to: Math.max(from, line.to), severity: each.severity, message };
      });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  goto(line: number): void {
    const at = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines)).from;
    this.view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    this.view.focus();
  }

  private complete(context: CompletionContext): CompletionResult | null {
    if (!this.schema) return null;
    const before = context.state.sliceDoc(0, context.pos);
    const word = /[\w.+-]*$/.exec(before)![0];
    if (!word && !context.explicit) return null;
    const options = offered(this.schema, pathAt(before.slice(0, before.length - word.length)));
    return options.length ? { from: context.pos - word.length, options, validFor: /^[\w.+-]*$/ } : null;
  }
}
