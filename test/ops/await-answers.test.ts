/** Tests how long the setup waits for a store and a Temporal, and what it says meanwhile. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { pino } from "pino";
import { beforeEach, expect, inject, onTestFinished, test, vi } from "vitest";
import { untilAnswered } from "../../src/ops/await-answers.ts";
import { setupTables } from "../../src/ops/setup.ts";
import { OperatorError } from "../../src/platform/config/config-error.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { SchedulesMissing } from "../../src/temporal/schedules.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { startTcpProxy } from "../support/servers/tcp-proxy.ts";

let said: string[];
/** Called with each line that the setup says. */
let onSaid: () => void;
beforeEach(() => {
  said = [];
  onSaid = () => {};
});
const write = (line: string) => {
  const { msg, reason } = JSON.parse(line);
  said.push(`${msg} (${reason})`);
  onSaid();
};
const log = pino({}, { write });

const away = new DomainError("WORKFLOWS_UNAVAILABLE", "workflows cannot be reached right now");
const silent = Object.assign(new Error("no answer within 3000 ms"), { name: "TimeoutError" });
const timing = { pauseMs: 1, giveUpMs: 240_000 };

test.each([
  ["Temporal", away],
  ["Temporal", new SchedulesMissing(["default"])],
  ["the store", silent],
  ["the store", new DomainError("STORE_UNAVAILABLE", "the store gave no answer")],
])("%s is asked again after %s", async (name, error) => {
  const errors = [error, error];
  const step = async () => {
    const next = errors.pop();
    if (next) throw next;
  };
  await untilAnswered(step, log, timing);
  const line = `${name} does not answer; trying again in 0.001 s (${error.message})`;
  expect(said).toEqual([line, line]);
});

test("when the time is over, one sentence says what has not answered", async () => {
  const step = () => Promise.reject(silent);
  const ended = untilAnswered(step, log, { pauseMs: 1, giveUpMs: 0 });
  const text = "the store has not answered for 0 s: no answer within 3000 ms";
  await expect(ended).rejects.toEqual(new OperatorError(text));
});

test("nothing else is tried again", async () => {
  const error = new OperatorError("the tables are not as this version needs them");
  await expect(untilAnswered(() => Promise.reject(error), log, timing)).rejects.toBe(error);
  expect(said).toEqual([]);
});

test("a store that comes back is set up", async () => {
  const proxy = await startTcpProxy(Number(new URL(inject("dynamodbEndpoint")).port));
  const endpoint = `http://127.0.0.1:${proxy.port}`;
  const { retrying, close } = createClients({ endpoint, region: "ap-northeast-1" });
  onTestFinished(async () => {
    close();
    await proxy.stop();
  });
  proxy.cut();
  onSaid = proxy.restore;
  let tables: readonly string[] | undefined;
  await untilAnswered(
    async () => {
      tables = (await retrying.send(new ListTablesCommand({}))).TableNames;
    },
    log,
    timing,
  );
  expect(tables).toBeInstanceOf(Array);
  expect(said).toEqual([expect.stringMatching(/^the store does not answer; .*/)]);
});

test("a store that hangs is told while the first request still waits", async () => {
  const proxy = await startTcpProxy(Number(new URL(inject("dynamodbEndpoint")).port));
  onTestFinished(proxy.stop);
  proxy.hang();
  onSaid = proxy.restore;
  const tables = {
    ...{ dynamoEndpoint: `http://127.0.0.1:${proxy.port}`, region: "ap-northeast-1" },
    ...{ tablePrefix: `hung-${randomUUID()}-`, manageTables: false },
  };
  const setUp = () => setupTables(tables, log);
  await expect(runAs("setup", tables.tablePrefix, setUp)).rejects.toThrow(OperatorError);
  expect(said[0]).toBe("the store gives no answer (undefined)");
});

test("a store that refuses is told in one sentence", async () => {
  const server = createServer((request, response) => {
    request.resume();
    const type = "com.amazon.coral.service#AccessDeniedException";
    response.writeHead(400).end(JSON.stringify({ __type: type, message: "not authorized" }));
  }).listen(0, "127.0.0.1");
  onTestFinished(async () => {
    await promisify(server.close.bind(server))();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const text = "the store cannot be set up: AccessDeniedException: not authorized";
  const ended = untilAnswered(() => listTables(`http://127.0.0.1:${port}`), log, timing);
  await expect(ended).rejects.toEqual(new OperatorError(text));
  expect(said).toEqual([]);
});

test("missing credentials are told in one sentence", async () => {
  const none = join(tmpdir(), randomUUID());
  for (const name of ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"]) vi.stubEnv(name, none);
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  // Credentials are asked for before the name is looked up.
  const ended = untilAnswered(() => listTables("http://store.invalid"), log, timing);
  await expect(ended).rejects.toThrow(OperatorError);
  await expect(ended).rejects.toThrow(/^the store cannot be set up: CredentialsProviderError: /);
});

/** Asks a store for its tables, as the setup does. */
async function listTables(endpoint: string): Promise<void> {
  const { retrying, close } = createClients({ endpoint, region: "ap-northeast-1" });
  try {
    await retrying.send(new ListTablesCommand({}));
  } finally {
    close();
  }
}
