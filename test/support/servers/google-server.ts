/**
 * Google on loopback: the token endpoint, Drive v3 and Sheets v4, as far as the sources use them.
 * Stricter than Google where a difference would hide a defect.
 */
import { generateKeyPairSync, randomUUID, verify } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createDrive, type GoogleDrive } from "./google-drive.ts";
import { type Cell, createSpreadsheet, type GoogleSpreadsheet } from "./google-spreadsheet.ts";
import { GoogleError, type GoogleRequest } from "./google-wire.ts";

/** One for all servers of a test's process, because making one takes long. */
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const email = "meguri@campaigns.iam.gserviceaccount.com";

/** A failure of the next request whose line, such as `GET /v4/…`, matches. */
interface Failure {
  readonly line: RegExp;
  readonly status?: number;
  readonly reason?: string;
  /** Executes the request before it fails, as a lost answer does. False by default. */
  readonly isExecuted?: boolean;
  /** Answers the first half of the bytes of a file, and closes the connection. */
  readonly isCutOff?: boolean;
}

export interface GoogleServer {
  /** The address that replaces those of Google's APIs. */
  readonly endpoint: string;
  /** The key file of a service account that this server knows. */
  readonly keyFile: string;
  readonly drive: GoogleDrive;
  /** Adds a spreadsheet with one tab to a folder, changed an hour ago. Returns it and its id. */
  addSpreadsheet(file: {
    readonly name: string;
    readonly folderId: string;
    readonly rows?: readonly (readonly Cell[])[];
  }): GoogleSpreadsheet & { readonly id: string };
  /** The requests so far, each as method and path. */
  readonly requests: readonly string[];
  /** The claims of the assertions for which tokens were issued. */
  readonly claims: readonly Claims[];
  failNext(failure: Failure): void;
  /** Calls `action` before the next request whose line matches is executed. */
  beforeNext(line: RegExp, action: () => void): void;
  /** Writes a key file with other contents, and returns its path. */
  writeKeyFile(changes: Readonly<Record<string, string>>): string;
  /** No token that was issued so far is valid any more. */
  revokeTokens(): void;
  close(): Promise<void>;
}

interface Claims {
  readonly iss: string;
  readonly scope: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
}

/** Starts it on a free port, with an empty Drive. */
export async function startGoogleServer(): Promise<GoogleServer> {
  const folder = mkdtempSync(join(tmpdir(), "google-"));
  const tokens = createTokens((text, signature) =>
    verify("sha256", Buffer.from(text), publicKey, signature),
  );
  const drive = createDrive();
  const spreadsheets = new Map<string, GoogleSpreadsheet>();
  const requests: string[] = [];
  const failures: Failure[] = [];
  const actions: { readonly line: RegExp; readonly action: () => void }[] = [];

  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? "", "http://localhost");
    const method = request.method ?? "";
    const line = `${method} ${path}`;
    requests.push(line);
    const bytes = await buffer(request);
    const failure = takeFirst(failures, (one) => one.line.test(line));
    const failed = failure?.status && new GoogleError(failure.status, "failed", failure.reason);
    if (failed && !failure.isExecuted) throw failed;
    takeFirst(actions, (one) => one.line.test(line))?.action();
    if (path === "/token") return { body: tokens.issue(bytes.toString()) };
    const isDrive = /^(\/upload)?\/drive\/v3\/files/.test(path);
    tokens.check(request.headers.authorization);
    const isJson = /json/.test(request.headers["content-type"] ?? "");
    const body = isJson ? JSON.parse(bytes.toString()) : undefined;
    const parts = { method, path, query, body, bytes };
    const answered = isDrive ? drive.answer(parts) : ofSheets(() => answerSheets(parts));
    if (failed) throw failed;
    return { body: answered, isCutOff: failure?.isCutOff ?? false };
  };
  const answerSheets = (parts: GoogleRequest): object => {
    const [name = ""] = parts.path.split("/").slice(3);
    const [id = ""] = decodeURIComponent(name).split(":");
    const found = spreadsheets.get(id);
    if (!found) throw new GoogleError(404, "Requested entity was not found.");
    const answer = found.answer(parts);
    if (parts.method !== "GET") drive.modify(id);
    return answer;
  };

  const server = createServer((request, response) => void respond(answer(request), response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const writeKeyFile = (changes: Readonly<Record<string, string>>) => {
    const path = join(folder, `${randomUUID()}.json`);
    const private_key = privateKey.export({ type: "pkcs8", format: "pem" });
    const token_uri = `${endpoint}token`;
    const key = { type: "service_account", client_email: email, private_key, token_uri };
    writeFileSync(path, JSON.stringify({ ...key, ...changes }));
    return path;
  };
  return {
    endpoint,
    keyFile: writeKeyFile({}),
    drive,
    addSpreadsheet({ name, folderId, rows }) {
      const id = drive.addDocument("spreadsheet", name, folderId);
      const added = createSpreadsheet();
      added.addTab("Sheet1", rows ?? []);
      spreadsheets.set(id, added);
      return Object.assign(added, { id });
    },
    requests,
    claims: tokens.claims,
    failNext: (failure) => void failures.push(failure),
    beforeNext: (line, action) => void actions.push({ line, action }),
    writeKeyFile,
    revokeTokens: tokens.revoke,
    async close() {
      rmSync(folder, { recursive: true });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Has its errors answered as Sheets does. */
function ofSheets<T>(answer: () => T): T {
  try {
    return answer();
  } catch (error) {
    if (error instanceof GoogleError) error.isOfSheets = true;
    throw error;
  }
}

function takeFirst<T>(list: T[], test: (one: T) => boolean): T | undefined {
  const index = list.findIndex(test);
  return index < 0 ? undefined : list.splice(index, 1)[0];
}

interface Reply {
  /** JSON, or the bytes of a file. */
  readonly body: object | Buffer;
  readonly isCutOff?: boolean;
}

async function respond(answer: Promise<Reply>, response: ServerResponse): Promise<void> {
  const send = (status: number, body: object) => {
    const isJson = !Buffer.isBuffer(body);
    response.writeHead(status, { "content-type": isJson ? "application/json" : "text/csv" });
    response.end(isJson ? JSON.stringify(body) : body);
  };
  try {
    const { body, isCutOff } = await answer;
    if (isCutOff && Buffer.isBuffer(body)) {
      response.writeHead(200, { "content-type": "text/csv", "transfer-encoding": "chunked" });
      response.write(body.subarray(0, body.length / 2), () => response.destroy());
    } else send(200, body);
  } catch (error) {
    if (error instanceof GoogleError) send(error.status, error.body);
    else send(500, { error: { code: 500, message: String(error) } });
  }
}

/** Issues tokens for assertions as RFC 7523 has them, and checks them. */
function createTokens(isSigned: (text: string, signature: Buffer) => boolean) {
  const scopes = new Map<string, string>();
  const claims: Claims[] = [];
  return {
    claims,
    issue(form: string): object {
      const fields = new URLSearchParams(form);
      const [header = "", payload = "", signature = ""] = (fields.get("assertion") ?? "").split(
        ".",
      );
      const found: Claims = JSON.parse(Buffer.from(payload, "base64url").toString());
      const { alg } = JSON.parse(Buffer.from(header, "base64url").toString());
      const isValid =
        fields.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
        alg === "RS256" &&
        isSigned(`${header}.${payload}`, Buffer.from(signature, "base64url")) &&
        found.iss === email &&
        found.aud === "https://oauth2.googleapis.com/token" &&
        found.exp - found.iat <= 3_600;
      if (!isValid) throw new GoogleError(400, "Invalid JWT Signature.", "invalid_grant");
      claims.push(found);
      const token = randomUUID();
      scopes.set(token, found.scope);
      return { access_token: token, expires_in: 3_599, token_type: "Bearer" };
    },
    check(authorization: string | undefined): void {
      const found = scopes.get(authorization?.replace(/^Bearer /, "") ?? "");
      if (found === undefined) throw new GoogleError(401, "Invalid Credentials", "authError");
      if (found !== "https://www.googleapis.com/auth/drive") {
        throw new GoogleError(403, "insufficient authentication scopes", "forbidden");
      }
    },
    revoke: () => scopes.clear(),
  };
}
