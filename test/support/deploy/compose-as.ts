/** Builds servers and workers in a test's own process, held to deploy/policies as real ones are. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { clientsOf, composeWorker } from "../../../src/compose.ts";
import type { Workflows } from "../../../src/hub/deps.ts";
import type { Config } from "../../../src/platform/config/config.ts";
import type { Clients } from "../../../src/platform/dynamodb/sdk/client.ts";
import type { Logger } from "../../../src/platform/observe/log.ts";
import { authorizerOf, authorizing, type Send } from "./authorize.ts";
import type { Role } from "./policies.ts";

/**
 * Builds the dependencies of a process that has these roles. Tests call use cases of servers and of
 * workers with the same dependencies, which then have both roles.
 */
export function composeAs(
  roles: readonly Role[],
  config: Config,
  workflows: Workflows,
  log: Logger,
  clients = clientsOf(config),
): ReturnType<typeof composeWorker> {
  const guarded = guardClients(clients, roles, config.tablePrefix);
  return composeWorker(config, workflows, log, { clients: guarded });
}

/** Returns the same clients with the rights of these roles. */
function guardClients(clients: Clients, roles: readonly Role[], prefix: string): Clients {
  const { dynamoDb } = authorizerOf(roles, prefix);
  const guarded = (client: DynamoDBClient): DynamoDBClient => {
    const send = authorizing(client.send as Send, dynamoDb);
    return Object.create(client, { send: { value: send } });
  };
  return { ...clients, retrying: guarded(clients.retrying), single: guarded(clients.single) };
}
