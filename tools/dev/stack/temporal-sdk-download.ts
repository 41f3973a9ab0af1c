/**
 * `node temporal-sdk-download.ts <folder> <version>`: makes the Temporal SDK download its CLI into
 * the folder. The SDK only downloads when it starts the server, so this starts one and ends it. It
 * is a separate process because the SDK's native runtime cannot be interrupted.
 */
import { TestWorkflowEnvironment } from "@temporalio/testing";

const [downloadDir, version] = process.argv.slice(2);
if (downloadDir === undefined || version === undefined) throw new Error("folder and version?");

const environment = await TestWorkflowEnvironment.createLocal({
  server: { executable: { type: "cached-download", version, downloadDir } },
});
await environment.teardown();
process.exit(0);
