/**
 * Loaded by every Node process of a test run, before its own code: refuses real processes what
 * their policy of deploy/policies does not allow, as IAM would, and records what they use.
 */
import { appendFileSync } from "node:fs";
import { type Authorize, authorizerOf, authorizing, type Send } from "./authorize.ts";
import type { Role } from "./policies.ts";

/** The role of a process by its entry. The doctor has the rights of a server. */
const rolesByEntry: Readonly<Record<string, Role>> = {
  "src/server.ts": "server",
  "src/worker.ts": "worker",
  "src/events.ts": "events",
  "src/ops/setup.ts": "setup",
  "src/ops/doctor.ts": "server",
  "tools/restore/main.ts": "restore",
};

const [entry] = Object.keys(rolesByEntry).filter((each) => process.argv[1]?.endsWith(`/${each}`));
const role = rolesByEntry[entry ?? ""];
if (role !== undefined) await guard(role);

async function guard(role: Role): Promise<void> {
  const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
  const { S3Client } = await import("@aws-sdk/client-s3");
  const authorizer = authorizerOf([role], process.env.MEGURI_TABLE_PREFIX || "meguri-");
  hold(DynamoDBClient, authorizer.dynamoDb);
  hold(S3Client, authorizer.s3);
  if (role !== "events") return;
  hold(
    (await import("@aws-sdk/client-dynamodb-streams")).DynamoDBStreamsClient,
    authorizer.streams,
  );
  hold((await import("@aws-sdk/client-sqs")).SQSClient, authorizer.destinations);
  hold((await import("@aws-sdk/client-sns")).SNSClient, authorizer.destinations);
  hold((await import("@aws-sdk/client-eventbridge")).EventBridgeClient, authorizer.destinations);
}

/** Has every client of a class authorize what it sends. */
function hold({ prototype }: { readonly prototype: object }, authorize: Authorize): void {
  const client = prototype as { send: Send };
  client.send = authorizing(client.send, (command, input) => {
    noteSender(command);
    authorize(command, input);
  });
}

const senders = new Set<string>();

/** Notes from which line of the code a command was sent, when it is first seen. */
function noteSender(command: string): void {
  const { TEST_USED_COMMANDS: used } = process.env;
  if (!used) return;
  const [, from] =
    /((?:src|tools\/restore)\/[\w./-]+\.ts:\d+):\d+/.exec(new Error().stack ?? "") ?? [];
  const line = `${from} ${command}\n`;
  if (senders.has(line)) return;
  senders.add(line);
  appendFileSync(used, line);
}
