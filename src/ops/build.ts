/**
 * `npm run build`: bundles into `.build` what the image runs, so that processes start soon: server,
 * worker and events process into a few files, because Node takes longest to find 1,500 of them, and
 * the workflows, so that a worker with MEGURI_WORKFLOW_BUNDLE needs no bundler.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { bundleWorkflows } from "../worker/bundle.ts";

const root = `${import.meta.dirname}/../..`;

/** Packages that load files beside their own code, or that such packages share. */
const external = [/^@temporalio\//, "@grpc/grpc-js"];

/**
 * Writes `server.js`, `worker.js`, `events.js` and `workflows.js` into a folder below the project's
 * root.
 */
export async function build(folder: string): Promise<void> {
  const input = {
    server: join(root, "src/server.ts"),
    worker: join(root, "src/worker.ts"),
    events: join(root, "src/events.ts"),
  };
  const bundle = await rolldown({ input, external, platform: "node", logLevel: "warn" });
  await bundle.write({ dir: folder, chunkFileNames: "parts/[name].js", cleanDir: true });
  const { code } = await bundleWorkflows();
  await writeFile(join(folder, "workflows.js"), code);
}

if (import.meta.main) await build(join(root, ".build"));
