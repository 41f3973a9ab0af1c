/** Builds the image of deploy/Dockerfile, and runs what deploy/compose.yaml starts from it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMeguri, type Meguri, timestampFromDate } from "../../packages/client/src/index.ts";
import { Reservation_State as State } from "../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import { startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { startTemporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { loadCompose, type Services } from "../support/deploy/compose.ts";
import { type Container, runContainer, startContainer } from "../support/deploy/container.ts";
import { buildImage, type Image } from "../support/deploy/image.ts";
import { createAuthority, loopbackNames } from "../support/fixtures/certificates.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { projectRoot } from "../support/markdown.ts";
import {
  audience,
  claimsOf,
  createSigningKey,
  issuerName,
  signToken,
} from "../support/servers/issuer.ts";

let image: Image;
let services: Services;
/** Ends, in the reverse order, what was begun. */
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  services = await loadCompose();
  image = await buildImage();
  cleanups.push(image.remove);
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const inImage = (...names: string[]) => join(image.root, "meguri", ...names);

/** The paths of all files below a folder of the image. */
const filesBelow = (folder: string): string[] =>
  readdirSync(inImage(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

test("its labels and MEGURI_BUILD_ID name the commit", async () => {
  const { Labels, User, Env } = image.config;
  expect(Labels).toMatchObject({
    "org.opencontainers.image.title": "Meguri",
    "org.opencontainers.image.revision": image.commit,
  });
  expect(image.commit).toMatch(/^[0-9a-f]{40}$/);
  expect(User).toBe("1000:1000");
  expect(Env).toContain("NODE_ENV=production");
  const shown = await runContainer({ image, args: ["src/ops/check-config.ts", "worker"] });
  expect(shown).toContain(`MEGURI_BUILD_ID=${image.commit}`);
});

test("it has the sources, the bundle and dependencies, and nothing of developers", () => {
  const names = [".build", "activities", "deploy", "node_modules", "package.json", "packages"];
  expect(readdirSync(inImage()).sort()).toEqual([...names, "src", "tools", "workflows"]);
  expect(readdirSync(inImage("tools"))).toEqual(["restore"]);
  const hasTables = existsSync(join(projectRoot, "deploy/tables.yaml"));
  expect(existsSync(inImage("deploy/tables.yaml"))).toBe(hasTables);
  const own = ["src", "workflows", "activities", "packages", "tools"].flatMap(filesBelow);
  expect(own.filter((file) => /\.test\.|\/(test|dev|\.git)\//.test(file))).toEqual([]);
  const lock = JSON.parse(readFileSync(join(projectRoot, "package-lock.json"), "utf8"));
  const packages = Object.entries<{ dev?: boolean }>(lock.packages);
  const dev = packages.filter(([path, { dev }]) => dev && path.startsWith("node_modules/"));
  expect(dev.length).toBeGreaterThan(100);
  expect(dev.filter(([path]) => existsSync(inImage(path)))).toEqual([]);
  expect(existsSync(inImage("node_modules/rolldown"))).toBe(false);
  const native = readdirSync(inImage("node_modules/@temporalio/core-bridge/releases"));
  expect(native).toHaveLength(1);
});

test("processes are process 1 and not root, and cannot write", async () => {
  const script = `
    console.log(process.pid, process.getuid(), process.getgid(), process.getgroups().join());
    for (const folder of ["/meguri", "/tmp"]) {
      try { fs.writeFileSync(folder + "/file", ""); } catch ({ code }) { console.log(code); }
    }`;
  const lines = await runContainer({ image, args: ["--eval", script] });
  expect(lines).toEqual(["1 1000 1000 1000", "EROFS", "EROFS"]);
});

test.each(["server", "worker", "events"] as const)(
  "what the %s starts from is compiled, and few files",
  async (name) => {
    const { command } = services[name];
    const script = `
    const folder = require("node:module").getCompileCacheDir();
    const files = fs.readdirSync(folder).map((file) => fs.statSync(folder + "/" + file).size);
    console.log(files.length < 1_000, Math.max(...files) > 1_000_000);`;
    const flags = (command ?? []).slice(0, -1);
    expect(await runContainer({ image, args: [...flags, "--eval", script] })).toEqual([
      "true true",
    ]);
  },
);

test("Temporal's native code has authorities to trust", () => {
  const file = join(image.root, "etc/ssl/certs/ca-certificates.crt");
  expect(readFileSync(file, "utf8").match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(100);
});

/** What compose.yaml runs, on ports of its own and against the stack of a developer. */
async function startStack() {
  const [dynamodb, temporal] = await Promise.all([startDynamoDbLocal(), startTemporal()]);
  cleanups.push(dynamodb.stop, temporal.stop);
  const secrets = await mkdtemp(join(tmpdir(), "meguri-secrets-"));
  cleanups.push(() => rm(secrets, { recursive: true }));
  const authority = await createAuthority("image test");
  const { cert, key } = await authority.issue(loopbackNames);
  const signing = await createSigningKey("k");
  const contents = {
    aws_credentials: "",
    jwt_keys: JSON.stringify({ keys: [signing.jwk] }),
    tls_cert: cert,
    tls_key: key,
  };
  const [user = 0, group = 0] = image.config.User.split(":").map(Number);
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(join(secrets, name), content, { mode: 0o600 });
    await chown(join(secrets, name), user, group);
  }
  await chown(secrets, user, group);
  const [port, http1Port, operatorsPort, metricsPort, eventsPort] = await findPorts(0, 0, 0, 0, 0);
  const env = {
    AWS_REGION: "local",
    MEGURI_DYNAMODB_ENDPOINT: dynamodb.endpoint,
    MEGURI_TEMPORAL_ADDRESS: temporal.address,
    MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
    MEGURI_JWT_ISSUER: issuerName,
    MEGURI_JWT_AUDIENCE: audience,
    MEGURI_PORT: String(port),
    MEGURI_HTTP1_PORT: String(http1Port),
    MEGURI_OPERATORS_PORT: String(operatorsPort),
    MEGURI_METRICS_PORT: String(metricsPort),
    MEGURI_EVENTS_PORT: String(eventsPort),
  };
  const optionsOf = (name: keyof Services) => {
    const { command, environment } = services[name];
    return { image, args: command, env: { ...env, ...environment }, secrets };
  };
  const scope = "points.read points.grant reservations.write reservations.read";
  const token = await signToken(signing, claimsOf({ scope }));
  const url = `https://127.0.0.1:${port}`;
  const meguri = createMeguri({ url, token, tls: { ca: authority.cert }, timeoutMs: 60_000 });
  cleanups.push(() => meguri.close());
  const connection = await Connection.connect({ address: temporal.address });
  cleanups.push(() => connection.close());
  const { namespace } = temporal;
  const client = new Client({ connection, namespace });
  const ports = { server: operatorsPort, worker: metricsPort, events: eventsPort };
  return { optionsOf, meguri, client, ports };
}

/** Starts a service, and waits until the health check of compose.yaml passes. */
async function startService(
  { optionsOf, ports }: Awaited<ReturnType<typeof startStack>>,
  name: "server" | "worker" | "events",
): Promise<Container> {
  const container = await startContainer(optionsOf(name));
  cleanups.push(container.kill);
  const [, , ...args] = services[name].healthcheck?.test ?? [];
  const url = args.pop()?.replace(/:\d+/, `:${ports[name]}`) ?? "";
  let end: string | undefined;
  void container.exited.then((why) => {
    end = why;
  });
  await eventually(async () => {
    if (end === undefined) await runContainer({ image, args: [...args, url] });
  }, 5 * 60_000);
  expect(end, container.lastOutput()).toBeUndefined();
  return container;
}

/** Reserves points for a moment, and waits until they are granted. */
async function reserveAndWait({ reservations }: Meguri): Promise<string> {
  const executeTime = timestampFromDate(new Date(Date.now() + 1_000));
  const ids = { programId: "default", reservationId: "first" };
  await reservations.createReservation({ ...ids, userId: "mei", points: 10n, executeTime });
  await eventually(async () => {
    const { reservation } = await reservations.getReservation(ids);
    expect(reservation?.state).toBe(State.DONE);
  });
  return reservationWorkflowId(ids.programId, ids.reservationId);
}

/** The id that a process has in its innermost namespace, its user, and its command. */
function factsOf({ pid }: Container) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    pid: status.match(/^NSpid:.*\t(\d+)$/m)?.[1],
    uid: status.match(/^Uid:\t(\d+)/m)?.[1],
    capabilities: status.match(/^CapEff:\t(\w+)/m)?.[1],
    command: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1),
  };
}

test("all processes run as compose.yaml says, and drain on SIGTERM", async () => {
  const stack = await startStack();
  await runContainer(stack.optionsOf("setup"));
  const events = await startService(stack, "events");
  const worker = await startService(stack, "worker");
  const server = await startService(stack, "server");
  const workflowId = await reserveAndWait(stack.meguri);
  const { balance } = await stack.meguri.points.getBalance({ userId: "mei" });
  expect(balance?.availablePoints).toBe(10n);

  const history = await stack.client.workflow.getHandle(workflowId).fetchHistory();
  const builds = (history.events ?? []).flatMap(
    ({ workflowTaskCompletedEventAttributes: task }) => task?.workerVersion?.buildId ?? [],
  );
  expect(new Set(builds)).toEqual(new Set([image.commit]));

  const doctor = { ...stack.optionsOf("server"), args: ["src/ops/doctor.ts"] };
  const found = await runContainer(doctor);
  expect(found.filter((line) => !line.startsWith("ok "))).toEqual([]);
  expect(found.length).toBeGreaterThan(5);

  for (const [name, container] of Object.entries({ events, worker, server })) {
    expect(factsOf(container)).toEqual({
      pid: "1",
      uid: "1000",
      capabilities: "0000000000000000",
      command: ["node", ...services[name as keyof Services].command],
    });
    process.kill(container.pid, "SIGTERM");
  }
  expect(await events.exited).toBe("exit code 0");
  expect(await worker.exited).toBe("exit code 0");
  expect(await server.exited).toBe("exit code 0");
  expect(server.lastOutput()).toContain('"msg":"stopped"');
  const setup = stack.optionsOf("setup");
  const compared = await runContainer({ ...setup, args: ["tools/restore/main.ts"] });
  expect(compared.at(-1)).toBe("tables meguri-*: 0 mended, 0 left");
});

test("it has the command of callers on its PATH", async () => {
  const script = `
    const { spawnSync } = require("node:child_process");
    const { stdout, stderr } = spawnSync("meguri", ["doctor", "--help"]);
    console.log((stdout + stderr).split("\\n")[0]);`;
  const lines = await runContainer({ image, args: ["--eval", script] });
  expect(lines).toEqual([expect.stringMatching(/^Usage: meguri doctor /)]);
});

test("its size is shown", async () => {
  const bytes = await runContainer({
    image,
    args: [
      "--print",
      `fs.readdirSync("/meguri", { recursive: true })
        .reduce((sum, name) => sum + fs.lstatSync("/meguri/" + name).size, 0)`,
    ],
  });
  const megabytes = Math.round(Number(bytes[0]) / 1e6);
  console.error(`the image adds ${megabytes} MB to its base`);
  expect(megabytes).toBeLessThan(400);
});
