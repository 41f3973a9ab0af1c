/** Tells what DynamoDB refuses for want of credentials, a right, a key or a table from mistakes. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type StoreRefusal, storeRefuses } from "../../ports/store-refusals.ts";
import type { StoreTallies } from "../../ports/tallies.ts";
import { tables } from "../tables.ts";
import { isTransient } from "./failures.ts";
import { isOnItems, type RequestInput, tablesOf } from "./requests.ts";

/** The codes that no other request of the same operation on the same tables would escape. */
const codes: ReadonlySet<string> = new Set([
  // No credentials, or those of nobody, and what STS says where it exchanges a token for them.
  "CredentialsProviderError",
  "TokenProviderError",
  "ExpiredToken",
  "ExpiredTokenException",
  "IncompleteSignature",
  "IncompleteSignatureException",
  "InvalidClientTokenId",
  "InvalidIdentityToken",
  "InvalidIdentityTokenException",
  "InvalidSignatureException",
  "MissingAuthenticationToken",
  "MissingAuthenticationTokenException",
  "UnrecognizedClientException",
  // No right, also to the key that encrypts a table.
  "AccessDenied",
  "AccessDeniedException",
  "NotAuthorized",
  "OptInRequired",
  // No such table or index.
  "ResourceNotFoundException",
]);

/** Errors of the key that encrypts a table, such as `KMSDisabledException`. */
const ofKeys = /^KMS[A-Z]/;

/** A refusal counts for so long, unless the store serves the same operation earlier. */
const latestMs = 60_000;

/** Errors of the SDK have the code as their name. */
interface RefusedRequest extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Whether a request was refused whatever it asks for. */
function isRefusal(error: unknown): error is RefusedRequest {
  if (!(error instanceof Error) || isTransient(error)) return false;
  return codes.has(error.name) || ofKeys.test(error.name);
}

interface Refusals {
  /** What was refused within the last minute and not served since. */
  latest(): readonly StoreRefusal[];
  /** Has a client throw STORE_REFUSES for requests for items, and counts them. */
  watch(client: DynamoDBClient): void;
}

/** The refusals of the clients of one process. */
export function createRefusals({ refusals, requests }: StoreTallies): Refusals {
  const known = new Map<string, { readonly refusal: StoreRefusal; readonly time: number }>();

  function note(error: RefusedRequest, operation: string, input: RequestInput): StoreRefusal {
    const { name: code, message: text, $metadata } = error;
    const names = tablesOf(input);
    for (const table of names) {
      refusals.inc({ operation, table, code });
      // Without credentials nothing is sent, so nothing else counts the attempt.
      const wasSent = $metadata?.httpStatusCode !== undefined;
      if (!wasSent) requests.inc({ operation, table, result: "refused" });
    }
    const resource = resourceOf(names, input);
    const table = resourceOf(names.map(ownName), input);
    const refusal = { code, operation, table, resource, text };
    known.set(keyOf(operation, resource), { refusal, time: performance.now() });
    return refusal;
  }

  return {
    latest() {
      for (const [key, { time }] of known) {
        if (performance.now() - time > latestMs) known.delete(key);
      }
      return [...known.values()].map(({ refusal }) => refusal);
    },
    watch(client) {
      client.middlewareStack.add(
        (next, { commandName = "" }) => {
          if (!isOnItems(commandName)) return next;
          const operation = commandName.replace(/Command$/, "");
          return async (args) => {
            const input = args.input as RequestInput;
            try {
              const answer = await next(args);
              if (known.size > 0)
                known.delete(keyOf(operation, resourceOf(tablesOf(input), input)));
              return answer;
            } catch (error) {
              throw isRefusal(error) ? storeRefuses(note(error, operation, input)) : error;
            }
          };
        },
        // Around the retries, and around the thin transport, which comes later.
        { step: "initialize", name: "meguriRefusals", priority: "high" },
      );
    },
  };
}

const keyOf = (operation: string, resource: string): string => `${operation} ${resource}`;

const resourceOf = (names: readonly string[], { IndexName }: RequestInput): string =>
  names.map((name) => (IndexName === undefined ? name : `${name}/${IndexName}`)).join(", ");

/** A table without the prefix of its environment. No table's name ends with that of another. */
const ownName = (name: string): string => tables.find((table) => name.endsWith(table)) ?? name;
