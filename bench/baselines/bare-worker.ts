/** A baseline for a start: a worker of the same workflows, with the SDK and without activities. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { NativeConnection, Worker } from "@temporalio/worker";

const {
  MEGURI_DYNAMODB_ENDPOINT: endpoint = "",
  MEGURI_TEMPORAL_ADDRESS: address = "",
  MEGURI_WORKFLOW_BUNDLE: codePath = "",
} = process.env;

const client = new DynamoDBClient({ endpoint });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue: "bare",
  workflowBundle: { codePath },
});
process.once("SIGTERM", () => worker.shutdown());
console.log(JSON.stringify({ level: 30, msg: "ready" }));
await worker.run();
client.destroy();
process.exit(0);
