/** Reads refusals as a client sees them, and writes the timestamps of requests. */
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "vitest";
import { isRefusal } from "../../../packages/client/src/index.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts";
import { type Reason, reasonTable } from "../../../src/platform/words/reasons.ts";

/** A refusal as a client sees it. */
export interface Refusal {
  readonly code: keyof typeof Code;
  readonly reason: string;
  readonly metadata: Record<string, string>;
  /** The invalid fields; empty unless the request was invalid. */
  readonly fields: string[];
  /** Whether the error has a RetryInfo. */
  readonly retries: boolean;
  readonly message: string;
}

/** Waits until a call is refused. The error must have exactly one ErrorInfo. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    (answer) => expect.fail(`was answered: ${describe(answer)}`),
    (refused: unknown) => refused,
  );
  return toRefusal(error);
}

/** Reads a ConnectError, which must have exactly one ErrorInfo. */
export function toRefusal(error: unknown): Refusal {
  expect(error).toBeInstanceOf(ConnectError);
  const refused = error as ConnectError;
  const infos = refused.findDetails(ErrorInfoSchema);
  expect(infos, String(error)).toHaveLength(1);
  const [info] = infos;
  expect(info?.domain).toBe("meguri");
  // The metadata that a server sends is as the table of reasons says.
  expect(isRefusal(error, info?.reason as Reason), JSON.stringify(info?.metadata)).toBe(true);
  const known = Object.keys(reasonTable[info?.reason as Reason].metadata ?? {});
  expect(known).toEqual(expect.arrayContaining(Object.keys(info?.metadata ?? {})));
  return {
    code: Code[refused.code] as keyof typeof Code,
    reason: info?.reason ?? "",
    metadata: info?.metadata ?? {},
    fields: refused
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field)),
    retries: refused.findDetails(RetryInfoSchema).length === 1,
    message: refused.rawMessage,
  };
}

/** The reason of a refused call. */
export const reasonOf = async (call: Promise<unknown>): Promise<string> =>
  (await refusalOf(call)).reason;

/** The Timestamp of a text as in RFC 3339. */
export const at = (text: string): Timestamp => timestampFromDate(new Date(text));

const describe = (answer: unknown) =>
  JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? String(value) : value));
