/** Runs a tool in a test's own process with the rights that deploy/policies give to a role. */
import { AsyncLocalStorage } from "node:async_hooks";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Authorize, authorizerOf, authorizing, type Send } from "./authorize.ts";
import type { Role } from "./policies.ts";

const running = new AsyncLocalStorage<Authorize>();

/** Authorizes a command for the tool that sends it. What tests themselves send is free. */
export const authorizeTool: Authorize = (command, input) => running.getStore()?.(command, input);

const everyClient = DynamoDBClient.prototype as unknown as { send: Send };
everyClient.send = authorizing(everyClient.send, authorizeTool);

/** Runs a tool, which makes its own clients, on the tables with this prefix. */
export const runAs = <T>(role: Role, prefix: string, tool: () => Promise<T>): Promise<T> =>
  running.run(authorizerOf([role], prefix).dynamoDb, tool);
