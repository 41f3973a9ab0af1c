/** Reads page sizes and page tokens, and makes the tokens of next pages. */
import { createHash } from "node:crypto";
import { clone, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { PageRequest } from "../ports/pages.ts";
import { invalid } from "./invalid-request.ts";

const defaultPageSize = 50;
const defaultMaxPageSize = 200;

/** The version of the format. A token of another version is refused. */
const version = "1";

/** Long enough to detect the token of another list, or a damaged one. It gives no access. */
const digestLength = 16;

/** A method whose pages have a fixed size has no page_size. */
type ListRequest = { pageSize?: number; pageToken: string };

/** The page of a list request, and the function that makes the token of the next page. */
interface RequestedPage {
  readonly page: PageRequest;
  /** The token of the page after `page`; empty at the end of the list. */
  next(page: { readonly cursor?: string | undefined }): string;
}

/**
 * Reads page_size and page_token. A page_size above the list's maximum counts as the maximum
 * (https://google.aip.dev/158), so that a maximum can be lowered without a break of the contract.
 * A token is valid only for the list that issued it: it starts with a digest of the list's other
 * parameters and of its cursor. Throws INVALID_REQUEST otherwise.
 */
export function requestedPage<D extends DescMessage>(
  schema: D,
  request: MessageShape<D> & ListRequest,
  maxPageSize = defaultMaxPageSize,
): RequestedPage {
  const list = clone(schema, request);
  Object.assign(list, { pageSize: 0, pageToken: "" } satisfies ListRequest);
  const parameters = toBinary(schema, list, { writeUnknownFields: false });
  const seal = (cursor: string) =>
    version +
    createHash("sha256")
      .update(`${schema.typeName}\n`)
      .update(`${parameters.length}\n`)
      .update(parameters)
      .update(cursor)
      .digest("base64url")
      .slice(0, digestLength);
  return {
    page: {
      size: Math.min(request.pageSize || defaultPageSize, maxPageSize),
      cursor: request.pageToken === "" ? undefined : open(request.pageToken, seal),
    },
    next: ({ cursor }) =>
      cursor === undefined ? "" : Buffer.from(seal(cursor) + cursor).toString("base64url"),
  };
}

function open(token: string, seal: (cursor: string) => string): string {
  const text = Buffer.from(token, "base64url").toString();
  const cursor = text.slice(version.length + digestLength);
  if (text !== seal(cursor) + cursor) throw invalid("page_token", "is not a token of this list");
  return cursor;
}
