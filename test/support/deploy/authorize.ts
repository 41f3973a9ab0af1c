/** Refuses what the policies of a role do not allow, as IAM would, and records what is used. */
import { appendFileSync } from "node:fs";
import {
  type Access,
  destinationAccess,
  dynamoDbNeeds,
  type Need,
  s3Access,
  streamsAccess,
} from "./iam-actions.ts";
import { evaluate, type Role } from "./policies.ts";

/** Throws AccessDeniedException for a command that is not allowed. */
export type Authorize = (command: string, input: object) => void;

interface Command {
  readonly constructor: { readonly name: string };
  readonly input: object;
}

export type Send = (command: Command, ...rest: readonly unknown[]) => Promise<unknown>;

/**
 * The `send` of a client, or of a class of them, that authorizes each command first. It adds no
 * tick, so that seeds of the models give the same histories as without it.
 */
export const authorizing = (send: Send, authorize: Authorize): Send =>
  function (this: unknown, command, ...rest) {
    try {
      authorize(command.constructor.name.replace(/Command$/, ""), command.input);
    } catch (error) {
      return Promise.reject(error);
    }
    return send.call(this, command, ...rest);
  };

/** Authorizes what a process sends, by the service to which it sends it. */
interface Authorizer {
  readonly dynamoDb: Authorize;
  readonly streams: Authorize;
  readonly s3: Authorize;
  /** SQS, SNS and EventBridge. */
  readonly destinations: Authorize;
}

/**
 * Authorizes the commands of a process with this prefix of its tables. Several roles have the
 * rights of each of them.
 */
export function authorizerOf(roles: readonly Role[], prefix: string): Authorizer {
  const check = createCheck(roles);
  // Policies have no name of a bucket, queue, topic or bus.
  const checkNamed = (access: Access, name: RegExp) => check({ access, leadingKeys: [] }, name);
  return {
    dynamoDb(command, input) {
      // A table of another prefix keeps its whole name, which no policy has.
      for (const need of dynamoDbNeeds(command, input)) check(need, ` ${prefix}`);
    },
    streams(command, input) {
      check({ access: streamsAccess(command, input), leadingKeys: [] }, ` ${prefix}`);
    },
    s3(command, input) {
      for (const access of s3Access(command, input)) checkNamed(access, / [^/]+/);
    },
    destinations(command, input) {
      for (const access of destinationAccess(command, input)) checkNamed(access, / [^ ]+$/);
    },
  };
}

/** Notes each access when it is first seen, because a process may be killed at any time. */
function createCheck(roles: readonly Role[]): (need: Need, parameter: string | RegExp) => void {
  const isAllowed = evaluate(roles);
  const who = roles.join("+");
  const seen = new Set<string>();
  const note = (file: string | undefined, line: string) => {
    if (!file || seen.has(file + line)) return;
    seen.add(file + line);
    appendFileSync(file, `${line}\n`);
  };
  return ({ access, leadingKeys }, parameter) => {
    const { TEST_USED_ACCESS: used, TEST_DENIED_ACCESS: denied } = process.env;
    const relative = access.replace(parameter, " ");
    note(used, `${who} ${relative}`);
    if (isAllowed(relative, leadingKeys)) return;
    note(denied, `${who} ${relative}`);
    throw Object.assign(new Error(`${who} is not authorized to perform: ${relative}`), {
      name: "AccessDeniedException",
      $fault: "client",
      $metadata: { httpStatusCode: 400 },
    });
  };
}
