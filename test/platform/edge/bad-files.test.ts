/** Tests that the error about the content of a file names the variable of the file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compose, composeAccess, composeWorker } from "../../../src/compose.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { ConfigError } from "../../../src/platform/config/config-error.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";

const log = createLogger("test", "silent");

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-bad-files-"));
  file = join(folder, "bad.json");
  await writeFile(file, "{}");
});
afterAll(() => rm(folder, { recursive: true }));

/** The names of the variables in the error of what is composed. */
function namesIn(composeIt: () => unknown): string[] {
  try {
    composeIt();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...error.problems.keys()];
  }
}

test("of a server", () => {
  const tls = { MEGURI_TLS_CERT_FILE: file, MEGURI_TLS_KEY_FILE: file };
  const mtls = { ...tls, MEGURI_AUTH: "mtls", MEGURI_TLS_CLIENT_CA_FILE: file };
  const jwt = { MEGURI_AUTH: "jwt", MEGURI_JWT_ISSUER: "i", MEGURI_JWT_AUDIENCE: "a" };
  const namesOf = (env: Record<string, string>) =>
    namesIn(() => composeAccess(readConfig(env, "server"), log));
  expect(namesOf(tls)).toEqual(["MEGURI_TLS_CERT_FILE"]);
  expect(namesOf({ ...mtls, MEGURI_CALLERS_FILE: file })).toEqual(["MEGURI_CALLERS_FILE"]);
  expect(namesOf({ ...jwt, MEGURI_JWT_KEY_FILE: file })).toEqual(["MEGURI_JWT_KEY_FILE"]);
});

test("of a worker are the keys of its sources, which a server does not read", async () => {
  const drive = { name: "campaigns", identity: "campaigns", programs: ["default"], type: "drive" };
  const key_file = join(folder, "google.json");
  const sources = join(folder, "sources.json");
  await writeFile(sources, JSON.stringify({ sources: [{ ...drive, folder_id: "1", key_file }] }));
  const env = { MEGURI_BULK_SOURCES: sources };
  const composed = compose(readConfig(env, "server"), noWorkflows, log);
  await composed.close();
  expect(composed.deps).not.toHaveProperty("bulkSources");
  const worker = () => composeWorker(readConfig(env, "worker"), noWorkflows, log);
  expect(namesIn(worker)).toEqual(["MEGURI_BULK_SOURCES"]);
  expect(worker).toThrow(`key file ${key_file}: `);
});
