/**
 * `npm run build:workflows`: bundles the workflows into `.build/workflows.js`, so that a worker
 * with MEGURI_WORKFLOW_BUNDLE starts at once and needs no bundler.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { bundleWorkflows } from "../worker/bundle.ts";

const file = resolve(process.argv[2] ?? ".build/workflows.js");
await mkdir(dirname(file), { recursive: true });
const { code } = await bundleWorkflows();
await writeFile(file, code);
process.stdout.write(`${file}\n`);
