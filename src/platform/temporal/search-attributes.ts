/** The custom search attributes of the project's workflows, and their registration. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, isGrpcServiceError } from "@temporalio/client";
import { defineSearchAttributeKey } from "@temporalio/common";
import { searchAttributes } from "../contract/search-attributes.ts";
import { DomainError } from "../words/errors.ts";

export const programKey = defineSearchAttributeKey(searchAttributes.program, "KEYWORD");
export const userKey = defineSearchAttributeKey(searchAttributes.user, "KEYWORD");
export const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");
export const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");
export const pointsKey = defineSearchAttributeKey(searchAttributes.points, "INT");
export const callerKey = defineSearchAttributeKey(searchAttributes.caller, "KEYWORD");
export const reasonKey = defineSearchAttributeKey(searchAttributes.reason, "KEYWORD");
export const monthKey = defineSearchAttributeKey(searchAttributes.month, "KEYWORD");
export const actorKey = defineSearchAttributeKey(searchAttributes.actor, "KEYWORD_LIST");

const allKeys = [
  programKey,
  userKey,
  executeTimeKey,
  stateKey,
  pointsKey,
  callerKey,
  reasonKey,
  monthKey,
  actorKey,
] as const;

type Key = (typeof allKeys)[number];

/**
 * The types by their number in `temporal.api.enums.v1.IndexedValueType`, which the client's
 * packages do not export, and by their name in the CLI.
 */
const types = {
  KEYWORD: { number: 2, name: "Keyword" },
  INT: { number: 3, name: "Int" },
  DATETIME: { number: 6, name: "Datetime" },
  KEYWORD_LIST: { number: 7, name: "KeywordList" },
} as const;

/** The gRPC codes of a Temporal that keeps its operator API to itself, and of a wrong query. */
const grpcCode = { INVALID_ARGUMENT: 3, PERMISSION_DENIED: 7, UNIMPLEMENTED: 12 } as const;

/** How long a namespace may take to apply added attributes. */
const timeoutMs = 30_000;

/**
 * Registers missing search attributes, and waits until the namespace has applied them: before that,
 * it refuses to start a workflow with one. Where the operator API is refused (Temporal Cloud, or a
 * user without the right), an administrator has to create them once; then this only checks that
 * they exist. Throws an error with the missing attributes and the command that creates them.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  try {
    await register(connection, namespace);
  } catch (error) {
    if (!isRefused(error)) throw error;
    await requireRegistered(connection, namespace);
  }
}

async function register(connection: Connection, namespace: string): Promise<void> {
  const readMissing = async () => {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace,
    });
    return allKeys.filter(({ name }) => !(name in customAttributes));
  };
  const missing = await readMissing();
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        missing.map(({ name, type }) => [name, types[type].number]),
      ),
    });
  } catch (error) {
    // Another process may have added them meanwhile.
    if ((await readMissing()).length > 0) throw error;
  }
  const limit = performance.now() + timeoutMs;
  while ((await readMissing()).length > 0) {
    if (performance.now() > limit)
      throw new DomainError("WORKFLOWS_UNAVAILABLE", "the search attributes did not appear");
    await sleep(100);
  }
}

const isRefused = (error: unknown): boolean =>
  isGrpcServiceError(error) &&
  (error.code === grpcCode.PERMISSION_DENIED || error.code === grpcCode.UNIMPLEMENTED);

/** Finds with ordinary queries which search attributes the namespace does not have. */
export async function missingSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<Key[]> {
  const missing: Key[] = [];
  for (const key of allKeys) {
    if (!(await isQueryable(connection, namespace, key))) missing.push(key);
  }
  return missing;
}

async function requireRegistered(connection: Connection, namespace: string): Promise<void> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return;
  const names = missing.map(({ name, type }) => `${name} (${types[type].name})`);
  const flags = missing.map(({ name, type }) => `--name ${name} --type ${types[type].name}`);
  throw new Error(
    `the namespace ${namespace} has no search attributes ${names.join(", ")}, and Temporal does ` +
      "not let this process create them. An administrator creates them, on Temporal Cloud in the " +
      "console or by tcld namespace search-attributes add, elsewhere with: " +
      `temporal operator search-attribute create --namespace ${namespace} ${flags.join(" ")}`,
  );
}

/** Returns whether a query may name the attribute: Temporal refuses names that it does not know. */
async function isQueryable(
  { workflowService }: Connection,
  namespace: string,
  { name }: Key,
): Promise<boolean> {
  try {
    await workflowService.countWorkflowExecutions({ namespace, query: `${name} IS NULL` });
    return true;
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === grpcCode.INVALID_ARGUMENT) return false;
    throw error;
  }
}
