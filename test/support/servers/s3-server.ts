/**
 * A loopback server that keeps objects and speaks as much of S3's REST API as the sources use, with
 * the bucket in the path. It checks that requests are signed, but not by which key.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/**
 * SLOW_DOWN: S3 asks for fewer requests. FORBIDDEN: it refuses. RESET: no answer. CUT_OFF: half of
 * the content.
 */
type S3Failure = "SLOW_DOWN" | "FORBIDDEN" | "RESET" | "CUT_OFF";

export interface S3Server {
  readonly endpoint: string;
  /** Each request, such as `GET /bucket/key`, without the query. */
  readonly requests: readonly string[];
  put(key: string, content: string | Uint8Array): void;
  /** The objects of the bucket: content by key. */
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Lets the next requests fail, in this order. */
  failNext(...failures: readonly S3Failure[]): void;
  /** Runs an action before the next request with this method is answered. */
  beforeNext(method: "GET" | "HEAD" | "PUT" | "DELETE", action: () => void): void;
  stop(): Promise<void>;
}

interface Request {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

/** Starts a server with one bucket; a page of its lists has up to `pageSize` keys. */
export async function startS3Server(bucket: string, pageSize = 1_000): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const failures: S3Failure[] = [];
  const actions: { readonly method: string; readonly action: () => void }[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => Buffer.alloc(0));
    const { method = "", headers, url = "" } = request;
    const { pathname, searchParams: query } = new URL(url, "http://s3");
    const path = decodeURIComponent(pathname);
    requests.push(`${method} ${path}`);
    const index = actions.findIndex((one) => one.method === method);
    if (index >= 0) actions.splice(index, 1)[0]?.action();
    const failure = failures.shift();
    if (failure === "RESET") return request.socket.destroy();
    if (failure === "SLOW_DOWN") return refuse(response, 503, "SlowDown");
    if (failure === "FORBIDDEN") return refuse(response, 403, "AccessDenied");
    if (!/^AWS4-HMAC-SHA256 Credential=.*\/s3\/aws4_request/.test(headers.authorization ?? "")) {
      return refuse(response, 403, "AccessDenied");
    }
    const [, named = "", key = ""] = /^\/([^/]*)\/?(.*)$/s.exec(path) ?? [];
    if (named !== bucket) return refuse(response, 404, "NoSuchBucket");
    const parts = { method, key, query, headers };
    if (key === "") list(objects, pageSize, parts, response);
    else if (method === "PUT" && !headers["x-amz-copy-source"]) {
      objects.set(key, body);
      response.writeHead(200, { etag: etagOf(body) }).end();
    } else if (method === "PUT") copy(objects, bucket, parts, response);
    else if (method === "DELETE") remove(objects, parts, response);
    else read(objects, parts, response, failure === "CUT_OFF");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    objects,
    put: (key, content) => void objects.set(key, Buffer.from(content)),
    failNext: (...next) => void failures.push(...next),
    beforeNext: (method, action) => void actions.push({ method, action }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const etagOf = (content: Buffer): string => `"${createHash("md5").update(content).digest("hex")}"`;

const differs = (content: Buffer, wanted: string | string[] | undefined): boolean =>
  wanted !== undefined && wanted !== etagOf(content);

function read(
  objects: ReadonlyMap<string, Buffer>,
  { method, key, headers }: Request,
  response: ServerResponse,
  isCutOff: boolean,
) {
  const content = objects.get(key);
  if (content === undefined) return refuse(response, 404, "NoSuchKey");
  if (differs(content, headers["if-match"])) return refuse(response, 412, "PreconditionFailed");
  response.writeHead(200, { "content-length": content.length, etag: etagOf(content) });
  if (method === "HEAD") response.end();
  else if (!isCutOff) response.end(content);
  else response.write(content.subarray(0, content.length / 2), () => response.destroy());
}

function copy(
  objects: Map<string, Buffer>,
  bucket: string,
  { key, headers }: Request,
  response: ServerResponse,
) {
  const source = decodeURIComponent(String(headers["x-amz-copy-source"]));
  const content = objects.get(source.slice(bucket.length + 1));
  if (content === undefined) return refuse(response, 404, "NoSuchKey");
  if (differs(content, headers["x-amz-copy-source-if-match"])) {
    return refuse(response, 412, "PreconditionFailed");
  }
  objects.set(key, content);
  const etag = xmlOf(etagOf(content));
  answer(response, 200, `<CopyObjectResult><ETag>${etag}</ETag></CopyObjectResult>`);
}

function remove(objects: Map<string, Buffer>, { key, headers }: Request, response: ServerResponse) {
  const content = objects.get(key);
  if (content && differs(content, headers["if-match"])) {
    return refuse(response, 412, "PreconditionFailed");
  }
  objects.delete(key);
  response.writeHead(204).end();
}

/** ListObjectsV2: keys in order, those below the delimiter merged; the token is the last key. */
function list(
  objects: ReadonlyMap<string, Buffer>,
  pageSize: number,
  { method, query }: Request,
  response: ServerResponse,
) {
  if (method !== "GET" || query.get("list-type") !== "2") {
    return refuse(response, 501, "NotImplemented");
  }
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter");
  const after = query.get("continuation-token") ?? "";
  const isMerged = (key: string) => delimiter !== null && key.slice(prefix.length).includes("/");
  const found = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
  const folders = new Set(
    found.filter(isMerged).map((key) => prefix + key.slice(prefix.length).split("/")[0]),
  );
  const rest = found.filter((key) => !isMerged(key) && key > after);
  const page = rest.slice(0, Math.min(pageSize, Number(query.get("max-keys") ?? "1000")));
  const contents = page.map((key) => {
    const content = objects.get(key) ?? Buffer.alloc(0);
    const etag = xmlOf(etagOf(content));
    const size = `<Size>${content.length}</Size>`;
    return `<Contents><Key>${xmlOf(key)}</Key><ETag>${etag}</ETag>${size}</Contents>`;
  });
  const isCut = rest.length > page.length;
  const token = isCut
    ? `<NextContinuationToken>${xmlOf(page.at(-1) ?? "")}</NextContinuationToken>`
    : "";
  const merged = [...folders].map(
    (folder) => `<CommonPrefixes><Prefix>${xmlOf(folder)}/</Prefix></CommonPrefixes>`,
  );
  answer(
    response,
    200,
    `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
      `<IsTruncated>${isCut}</IsTruncated>${token}${contents.join("")}${merged.join("")}` +
      "</ListBucketResult>",
  );
}

function refuse(response: ServerResponse, status: number, code: string): void {
  answer(response, status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

/** Answers with XML; of an answer to HEAD only the status and the headers are sent. */
function answer(response: ServerResponse, status: number, xml: string): void {
  response
    .writeHead(status, { "content-type": "application/xml" })
    .end(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}`);
}

const xmlOf = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
