/** How the sources sign in to Google and repeat calls, against its REST APIs on loopback. */
import { generateKeyPairSync } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDriveSource } from "../../../src/bulk-grants/google-sources/drive.ts";
import { type GoogleServer, startGoogleServer } from "../../support/servers/google-server.ts";

let google: GoogleServer;
let folderId: string;

beforeEach(async () => {
  google = await startGoogleServer();
  folderId = google.drive.addFolder("campaigns");
  google.drive.add({ name: "spring.csv", folderId, content: "user_id,points\naoi,100\n" });
});
afterEach(() => google.close());

const driveSource = (key_file = google.keyFile) =>
  createDriveSource({ folder_id: folderId, key_file, endpoint: google.endpoint });
const requestsTo = (line: string) => google.requests.filter((one) => one === line);

describe("a token", () => {
  test("is fetched once for many calls, of Drive and of Sheets", async () => {
    const source = driveSource();
    google.addSpreadsheet({ name: "Spring", folderId, rows: [["user_id"]] });
    await source.listNew();
    await source.move({ path: "spring.csv" }, "done");
    expect(await text((await source.open({ path: "Spring" })).csv)).toBe("user_id\n");
    expect(google.claims.map(({ scope }) => scope)).toEqual([
      "https://www.googleapis.com/auth/drive",
    ]);
  });

  test("that is not valid fails the call", async () => {
    const source = driveSource();
    await source.listNew();
    google.revokeTokens();
    await expect(source.listNew()).rejects.toEqual(expect.objectContaining({ status: 401 }));
  });

  test("is refused to another key, and the error does not show the assertion", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const private_key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const source = driveSource(google.writeKeyFile({ private_key }));
    const error = await source.listNew().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 400, message: expect.stringMatching(/^Google: /) });
    expect(Object.keys(error as Error)).toEqual(["status"]);
  });
});

describe("a call that Google answers once with", () => {
  test.each([429, 500, 503])("%s is repeated when it reads", async (status) => {
    google.failNext({ line: /^GET \/drive/, status });
    expect((await driveSource().listNew()).items).toHaveLength(1);
    expect(requestsTo("GET /drive/v3/files")).toHaveLength(2);
  });

  test("429 is repeated when it writes", async () => {
    google.failNext({ line: /^POST \/drive/, status: 429 });
    google.failNext({ line: /^PATCH/, status: 403, reason: "userRateLimitExceeded" });
    await driveSource().move({ path: "spring.csv" }, "done");
    expect(google.drive.foldersNamed("done", folderId)).toHaveLength(1);
  });

  test("503 is not repeated when it may have made a folder", async () => {
    google.failNext({ line: /^POST \/drive/, status: 503, isExecuted: true });
    await expect(driveSource().move({ path: "spring.csv" }, "done")).rejects.toThrow("Google");
    expect(requestsTo("POST /drive/v3/files")).toHaveLength(1);
  });

  test.each([400, 403, 404])("%s is not repeated", async (status) => {
    google.failNext({ line: /^GET \/drive/, status });
    await expect(driveSource().listNew()).rejects.toEqual(expect.objectContaining({ status }));
    expect(requestsTo("GET /drive/v3/files")).toHaveLength(1);
  });

  test("503 for a token is repeated", async () => {
    google.failNext({ line: /^POST \/token/, status: 503 });
    expect((await driveSource().listNew()).items).toHaveLength(1);
    expect(requestsTo("POST /token")).toHaveLength(2);
  });

  test("429 for the bytes of a file is repeated", async () => {
    google.failNext({ line: /^GET .*\/file-/, status: 429 });
    const { csv } = await driveSource().open({ path: "spring.csv" });
    expect(await text(csv)).toBe("user_id,points\naoi,100\n");
  });
});

test("a call without any answer fails after some tries", async () => {
  const source = driveSource();
  await google.close();
  await expect(source.listNew()).rejects.toEqual(expect.objectContaining({ status: undefined }));
  google = await startGoogleServer();
});

describe("a key file", () => {
  test("that is missing or no JSON is named", () => {
    expect(() => driveSource("/missing/key.json")).toThrow("key file /missing/key.json: ");
  });

  test("that is not of a service account is named with what is wrong", () => {
    const keyFile = google.writeKeyFile({ type: "authorized_user", client_email: "" });
    expect(() => driveSource(keyFile)).toThrow(/key file .*: [\s\S]*type[\s\S]*client_email/);
  });
});
