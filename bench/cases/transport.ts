/** Measures what the thin transport saves of the CPU that requests to DynamoDB take. */
import { Agent, request } from "node:http";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { HttpRequest } from "@smithy/core/protocols";
import { createClients } from "../../src/store/dynamodb/sdk/client.ts";
import type { Benchmark, Result, Scale } from "../benchmark.ts";
import { balance, grant, userName } from "../support/calls.ts";
import { loadWithCpu } from "../support/cpu.ts";
import { byTurns, inParallel } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";
import type { Channel } from "../support/rpc.ts";
import { type ServerProcess, type Stack, startProcess, withStack } from "../support/stack.ts";

const callers = 16;

interface Call {
  readonly name: string;
  readonly call: (channel: Channel, userId: string) => Promise<void>;
  readonly target: string;
}

// Grants first, so that there are accounts.
const grants: Call = { name: "grant", call: grant, target: "<= 0.7" };
const balances: Call = { name: "balance", call: balance, target: "<= 0.5" };
const instantGrants: Call = { ...grants, name: "grant.instant" };

/** CPU of a server for each call, and of this process for each request. */
export const transport: Benchmark = {
  names: [
    "transport.grant.cpu",
    "transport.balance.cpu",
    "transport.grant.instant.cpu",
    "transport.request.cpu",
  ],
  run: (scale) =>
    withStack({}, async (stack) => [
      ...(await compareServers(scale, stack, {}, [grants, balances])),
      ...(await compareInstantGrants(scale, stack)),
      await compareRequests(scale, stack),
    ]),
};

/** Grants wait for the emulator most of the time, and a process that waits works less well. */
async function compareInstantGrants(scale: Scale, stack: Stack): Promise<Result[]> {
  const env = { BENCH_UPSTREAM: stack.dynamo.endpoint };
  const store = await startProcess("bench/support/instant-store.ts", env);
  try {
    const endpoint = { MEGURI_DYNAMODB_ENDPOINT: String(store.ready.endpoint) };
    return await compareServers(scale, stack, endpoint, [instantGrants]);
  } finally {
    await store.stop();
  }
}

async function compareServers(
  scale: Scale,
  stack: Stack,
  env: Record<string, string>,
  calls: readonly Call[],
): Promise<Result[]> {
  const thin = await stack.startServer({ env });
  const sdk = await stack.startServer({ env: { ...env, MEGURI_DYNAMODB_TRANSPORT: "sdk" } });
  const results: Result[] = [];
  for (const { name, call, target } of calls) {
    const cpuOf = (server: ServerProcess) => () => cpuOfCall(scale, server, call);
    // V8 optimises a server's code for half a minute of calls that wait for the emulator.
    await byTurns(scale.pick(8, 0), cpuOf(thin), cpuOf(sdk));
    const { a, b } = await byTurns(scale.pick(12, 1), cpuOf(thin), cpuOf(sdk));
    scale.note(`${name}, µs a call: thin ${shown(a)}, SDK ${shown(b)}`);
    results.push({
      name: `transport.${name}.cpu`,
      ...ratioByTurns(a, b),
      unit: "ratio of the server's CPU a call",
      target,
      baseline: "the same server with MEGURI_DYNAMODB_TRANSPORT=sdk",
    });
  }
  await Promise.all([thin.stop(), sdk.stop()]);
  return results;
}

async function cpuOfCall(
  scale: Scale,
  { pid, channel }: ServerProcess,
  call: Call["call"],
): Promise<number> {
  const { cpu } = await loadWithCpu(pid, {
    ...{ callers, warmMs: 0, ms: scale.pick(3_000, 1_000) },
    call: (i) => call(channel, userName(i)),
  });
  return cpu;
}

/** GetItem with all that counts and traces it, over the same bytes posted with node:http. */
async function compareRequests(scale: Scale, { config, dynamo }: Stack): Promise<Result> {
  const clients = createClients({ endpoint: dynamo.endpoint, region: config.region });
  const agent = new Agent({ keepAlive: true });
  let signed: HttpRequest | undefined;
  clients.retrying.middlewareStack.add(
    (next) => (args) => {
      signed = args.request as HttpRequest;
      return next(args);
    },
    { step: "finalizeRequest", priority: "low" },
  );
  const get = () =>
    clients.retrying.send(
      new GetItemCommand({
        TableName: `${config.tablePrefix}points`,
        Key: { pk: { S: `A#default#${userName(0)}` }, sk: { S: "A" } },
        ConsistentRead: true,
      }),
    );
  await get();
  const cpuOf = (send: () => Promise<unknown>) => async () => {
    const all = Array.from({ length: scale.pick(3_000, 500) });
    const before = process.cpuUsage();
    await inParallel(callers, all, send);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / all.length / 1e6;
  };
  const ours = cpuOf(get);
  const bare = cpuOf(() => post(signed as HttpRequest, agent));
  await byTurns(scale.pick(2, 0), ours, bare);
  const { a, b } = await byTurns(scale.pick(12, 1), ours, bare);
  agent.destroy();
  clients.close();
  scale.note(`GetItem, µs a request: thin ${shown(a)}, bare ${shown(b)}`);
  return {
    name: "transport.request.cpu",
    ...ratioByTurns(a, b),
    unit: "ratio of CPU a request",
    target: "<= 3",
    baseline: "the same signed bytes, posted with node:http",
  };
}

const post = ({ hostname, port, path, headers, body }: HttpRequest, agent: Agent) =>
  new Promise<void>((resolve, reject) => {
    const options = { agent, host: hostname, port, path, method: "POST", headers };
    request(options, (answer) => {
      answer.setEncoding("utf8").on("data", () => undefined);
      answer.on("end", resolve).on("error", reject);
    })
      .on("error", reject)
      .end(body);
  });

const shown = (seconds: readonly number[]): string =>
  seconds.map((each) => (each * 1e6).toFixed(0)).join(" ");
