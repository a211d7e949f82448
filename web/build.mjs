// Builds the page of the lab: `npm ci && npm run build`. The output names the digest of its sources, which a test
// compares (tests/python/lab/test_built.py), so that nobody needs npm to see whether it is theirs.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = "../python/tailback/lab/page";
const sources = readdirSync("src").sort().map((name) => `src/${name}`);
const digest = createHash("sha256");
for (const name of [...sources, "package-lock.json"]) digest.update(readFileSync(name));
const banner = `/* Built from web/ of the repository, sources ${digest.digest("hex")} */`;

await build({
  entryPoints: ["src/lab.ts", "src/standalone.ts", "src/simulator.ts", "src/lab.css"],
  bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "eof",
  banner: { js: banner, css: banner }, outdir: target, logLevel: "warning",
});
const bundled = Object.entries(JSON.parse(readFileSync("package-lock.json")).packages).filter(([, each]) => !each.dev);
const notices = bundled.filter(([folder]) => folder).map(([folder, each]) => {
  return `${folder.replace("node_modules/", "")} ${each.version}\n\n${readFileSync(`${folder}/LICENSE`)}`;
});
writeFileSync(`${target}/LICENCES.txt`, notices.join("\n\n"));
for (const page of ["index.html", "saved.html"]) writeFileSync(`${target}/${page}`, readFileSync(`src/${page}`));
