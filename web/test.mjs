// The tests of the page's pure functions: `npm test`. What a browser does is tested by tests/python/lab.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const outdir = mkdtempSync("node_modules/.test-");
try {
  const entryPoints = readdirSync("test").map((name) => `test/${name}`);
  await build({ entryPoints, bundle: true, platform: "node", format: "esm", outdir, outExtension: { ".js": ".mjs" } });
  const files = readdirSync(outdir).map((name) => `${outdir}/${name}`);
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(outdir, { recursive: true });
}
