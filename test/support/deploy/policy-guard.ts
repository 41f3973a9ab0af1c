/**
 * Loaded by every Node process of a test run, before its own code: refuses real processes what
 * their policy of deploy/policies does not allow, as IAM would, and records what they use.
 */
import { appendFileSync } from "node:fs";
import { type Access, dynamoDbAccess, s3Access } from "./iam-actions.ts";
import { allowedTo, type Role } from "./policies.ts";

/** The role of a process by its entry. The doctor has the rights of a server. */
const rolesByEntry: Readonly<Record<string, Role>> = {
  "src/server.ts": "server",
  "src/worker.ts": "worker",
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
  const prefix = process.env.MEGURI_TABLE_PREFIX || "meguri-";
  // A table of another prefix keeps its whole name, which no policy has.
  const withoutPrefix = (access: Access) => access.replace(` ${prefix}`, " ");
  const check = createCheck(role);
  watch(DynamoDBClient, (name, input) => {
    noteSender(name);
    for (const access of dynamoDbAccess(name, input)) check(withoutPrefix(access));
  });
  watch(S3Client, (name, input) => {
    noteSender(name);
    for (const access of s3Access(name, input)) check(access.replace(/ [^/]+/, " "));
  });
}

type Send = (command: { readonly constructor: { readonly name: string } }) => Promise<unknown>;

/** Calls `check` with each command of a client before it is sent. */
function watch(
  { prototype }: { readonly prototype: unknown },
  check: (name: string, input: object) => void,
): void {
  const client = prototype as { send: Send };
  const { send } = client;
  client.send = async function (this: unknown, command, ...rest) {
    const { input } = command as unknown as { readonly input: object };
    check(command.constructor.name.replace(/Command$/, ""), input);
    return send.call(this, command, ...rest);
  };
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

/** Notes each access when it is first seen, because a process may be killed at any time. */
function createCheck(role: Role): (access: string) => void {
  const allowed = allowedTo(role);
  const seen = new Set<string>();
  return (access) => {
    const isAllowed = allowed.has(access);
    const { TEST_USED_ACCESS: used, TEST_DENIED_ACCESS: denied } = process.env;
    if (!seen.has(access)) {
      seen.add(access);
      if (used) appendFileSync(used, `${role} ${access}\n`);
      if (denied && !isAllowed) appendFileSync(denied, `${role} ${access}\n`);
    }
    if (isAllowed) return;
    throw Object.assign(new Error(`${role} is not authorized to perform: ${access}`), {
      name: "AccessDeniedException",
      $fault: "client",
      $metadata: { httpStatusCode: 400 },
    });
  };
}
