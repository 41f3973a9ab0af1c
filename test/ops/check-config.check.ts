/**
 * Starts the real processes with wrong variables, as a deployment would: each ends with one
 * message. `npm run check:config` prints the same message, or what is in force.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { nodeFlags } from "../../tools/dev/stack/service.ts";
import { projectRoot } from "../support/markdown.ts";

type Env = Readonly<Record<string, string>>;

/** Runs a process to its end. */
const run = (command: string, args: readonly string[], env: Env) =>
  new Promise((resolve) => {
    const options = { cwd: projectRoot, env: { ...process.env, ...env } };
    execFile(command, args, options, (error, out, err) => {
      resolve({ code: error === null ? 0 : error.code, out, err });
    });
  });

const runEntry = (entry: string, env: Env) =>
  run(process.execPath, [...nodeFlags(entry), entry], env);

const checkConfig = (args: readonly string[], env: Env) =>
  run("npm", ["run", "--silent", "check:config", ...args], env);

const taken = createServer();
let folder: string;
let port: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-config-"));
  taken.listen({ host: "127.0.0.1", port: 0 });
  await once(taken, "listening");
  port = String((taken.address() as AddressInfo).port);
});
afterAll(async () => {
  taken.close();
  await rm(folder, { recursive: true });
});

const headline = "the configuration is wrong; docs/run/configuration.md lists the variables";

/** Variables that are wrong for every process, and the lines about them. */
const wrong = {
  MEGURI_TEMPORAL_ADDRESS: "http://127.0.0.1:7233",
  MEGURI_DYNAMODB_ENDPOINT: "127.0.0.1:8000",
  MEGURI_TABLE_PREFFIX: "shop-",
  MEGURI_BULK_SOURCES: "/none/sources.json",
  MEGURI_DRAIN_SECONDS: "",
};
const lines = [
  "MEGURI_BULK_SOURCES names a file that is not there: /none/sources.json",
  "MEGURI_DYNAMODB_ENDPOINT has to be a URL that begins with http:// or https://",
  "MEGURI_TABLE_PREFFIX is unknown; the nearest name is MEGURI_TABLE_PREFIX",
  "MEGURI_TEMPORAL_ADDRESS has to be host:port, without a scheme such as https://",
];

/** The only output of a process that ends so. */
const refusal = (...problems: readonly string[]) => ({
  code: 1,
  out: "",
  err: `${[headline, ...problems.toSorted()].join("\n  ")}\n`,
});

const takenPort = (name: string) =>
  `${name} is ${port}, on which another process of 127.0.0.1 listens`;

describe("a process with wrong variables ends with one message about all of them", () => {
  test("a server", async () => {
    const ports = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: port, MEGURI_OPERATORS_PORT: port };
    expect(await runEntry("src/server.ts", { ...wrong, ...ports })).toEqual(
      refusal(
        ...lines,
        takenPort("MEGURI_HTTP1_PORT"),
        `MEGURI_OPERATORS_PORT is ${port}, as MEGURI_HTTP1_PORT is`,
      ),
    );
  });

  test("a worker", async () => {
    const env = { ...wrong, MEGURI_METRICS_PORT: port, MEGURI_WORKFLOW_BUNDLE: "/none/bundle.js" };
    const bundle = "MEGURI_WORKFLOW_BUNDLE names a file that is not there: /none/bundle.js";
    expect(await runEntry("src/worker.ts", env)).toEqual(
      refusal(...lines, bundle, takenPort("MEGURI_METRICS_PORT")),
    );
  });

  test("setup", async () => {
    expect(await runEntry("src/ops/setup.ts", wrong)).toEqual(refusal(...lines));
  });

  test("check:config", async () => {
    expect(await checkConfig(["--", "worker"], wrong)).toEqual(refusal(...lines));
  });
});

test.each([
  ["src/ops/setup.ts", "MEGURI_BULK_SOURCES", {}],
  ["src/ops/setup.ts", "MEGURI_EXPORT_DESTINATIONS", {}],
  [
    "src/server.ts",
    "MEGURI_JWT_KEY_FILE",
    { MEGURI_AUTH: "jwt", MEGURI_JWT_ISSUER: "i", MEGURI_JWT_AUDIENCE: "a" },
  ],
])("%s names %s if it cannot use the content of its file", async (entry, name, env) => {
  const file = join(folder, "empty.json");
  await writeFile(file, "{}");
  const ports = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_OPERATORS_PORT: "0" };
  const ended = await runEntry(entry, { ...ports, ...env, [name]: file });
  const message = new RegExp(`^${headline}\n  ${name} cannot be used: `);
  expect(ended).toMatchObject({ code: 1, err: expect.stringMatching(message) });
  expect(ended).toMatchObject({ err: expect.not.stringMatching(/\n +at .*:\d+/) });
});

test("check:config reads the file of subscriptions, and the secrets that it names", async () => {
  const file = join(folder, "subscriptions.json");
  const hook = { name: "shop", type: "http", types: "all", programs: "all" };
  const subscriptions = [
    { ...hook, url: "https://shop.example.com/", secret_files: ["/none/secret"] },
  ];
  await writeFile(file, JSON.stringify({ subscriptions }));
  const env = { MEGURI_EVENT_SUBSCRIPTIONS: file };
  const checked = await checkConfig(["--", "events"], env);
  const problem = /MEGURI_EVENT_SUBSCRIPTIONS cannot be used: subscription shop: .*\/none\/secret/;
  expect(checked).toMatchObject({ code: 1, out: "", err: expect.stringMatching(problem) });
});

test("a worker listens for other machines without any variable of authentication", async () => {
  const env = {
    ...process.env,
    MEGURI_HOST: "0.0.0.0",
    MEGURI_METRICS_PORT: "0",
    MEGURI_TEMPORAL_ADDRESS: "127.0.0.1:1",
    MEGURI_WORKFLOW_BUNDLE: inject("workflowBundle"),
  };
  const child = spawn(process.execPath, ["src/worker.ts"], { cwd: projectRoot, env });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const [line] = await once(child.stdout, "data");
  expect(String(line)).toContain("Temporal does not answer");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("check:config prints what is in force, also beside a process that runs", async () => {
  const env = {
    MEGURI_PORT: port,
    MEGURI_DRAIN_SECONDS: "",
    MEGURI_SLACK_WEBHOOK_URL: "https://hooks.slack.example/services/s3cret",
  };
  const shown = [
    `\nMEGURI_PORT=${port}\n`,
    "\nMEGURI_DRAIN_SECONDS=20 (default)\n",
    "\nMEGURI_SLACK_WEBHOOK_URL=***\n",
  ];
  const printed = await checkConfig([], env);
  for (const line of shown) {
    expect(printed).toEqual({ code: 0, out: expect.stringContaining(line), err: "" });
  }
  expect(await checkConfig(["--", "events"], env)).toEqual({
    code: 0,
    out: expect.stringContaining("\nMEGURI_EVENTS_PORT=8084 (default)\n"),
    err: "",
  });
  const file = join(folder, "subscriptions.json");
  await writeFile(file, JSON.stringify({ subscriptions: [{ name: "shop", type: "hook" }] }));
  expect(await checkConfig(["--", "events"], { ...env, MEGURI_EVENT_SUBSCRIPTIONS: file })).toEqual(
    {
      code: 1,
      out: "",
      err: expect.stringMatching(
        /EVENT_SUBSCRIPTIONS cannot be used: .*subscriptions\.json: .*subscriptions\[0]\.type/s,
      ),
    },
  );
  expect(await checkConfig(["--", "client"], env)).toEqual({
    code: 2,
    out: "",
    err: "client is none of server, worker, events, setup\n",
  });
});
