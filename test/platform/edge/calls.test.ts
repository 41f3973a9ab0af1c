/** Tests what every call leaves behind: one count, one line without anything personal, one id. */
import { connect as connectTcp } from "node:net";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { createCalls } from "../../../src/platform/edge/calls.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { readPage } from "../../support/servers/operators.ts";
import { openSession, send } from "../../support/servers/raw-grpc.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const text: string[] = [];
const log = pino({ level: "debug" }, { write: (line: string) => void text.push(line) });
const lines = () =>
  text.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "call") as Record<
    string,
    unknown
  >[];

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer({}, log);
});
beforeEach(() => {
  text.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => server.stop());

const grantPath = "/meguri.points.v1.PointsService/GrantPoints";
const grant = (message: object, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${server.http1Port}${grantPath}`, {
    method: "POST",
    headers: { "content-type": "application/json", "meguri-caller": "shop", ...headers },
    body: JSON.stringify(message),
  });
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

test("the line of a call names what its caller chose and nobody, on both ports", async () => {
  const planted = { userId: "planted-user", reason: "planted-reason", points: 5n };
  let header: string | null = null;
  await server.points.grantPoints(
    { ...planted, programId: "default", eventId: "event-1" },
    {
      headers: { traceparent },
      onHeader(headers) {
        header = headers.get("x-request-id");
      },
    },
  );
  const answer = await grant({ ...planted, points: "5", eventId: "event-2" }, { traceparent });
  expect(answer.status).toBe(200);
  await grant({ ...planted, points: "0", eventId: "event-3" });
  await server.points.usePoints({ ...planted, points: 900n, eventId: "event-4" }).catch(() => {});
  await eventually(async () => expect(lines()).toHaveLength(4), 5_000);
  expect(lines()).toMatchObject([
    { level: 30, service: "tests", reason: "OK", traceId, id: "event-1", requestId: header },
    { level: 30, service: "shop", reason: "OK", id: "event-2" },
    { level: 30, service: "shop", reason: "INVALID_REQUEST" },
    { level: 30, service: "tests", reason: "INSUFFICIENT_POINTS", id: "event-4" },
  ]);
  expect(lines()[0]).toMatchObject({ programId: "default", method: grantPath.slice(1) });
  // It has named no program.
  expect(lines()[1]).toMatchObject({ requestId: answer.headers.get("x-request-id"), traceId });
  expect(lines()[1]).toHaveProperty("programId", "default");
  expect(lines()[2]).not.toHaveProperty("id");
  expect(text.join("")).not.toContain("planted");
});

test("the line of a call has the id of its reservation or bulk grant, and its time", async () => {
  const method = "meguri.reservations.v1.ReservationService/CreateReservation";
  const ofReservation = { programId: "default", reservationId: "reservation-1" };
  await server.reservations.createReservation({
    ...ofReservation,
    ...{ userId: "planted-user", points: 5n, reason: "planted-reason" },
    executeTime: timestampFromMs(Date.now() + 3_600_000),
  });
  await server.bulkGrants.getBulkGrant({ bulkGrantId: "campaign-1" }).catch(() => {});
  async function* upload() {
    const header = { bulkGrantId: "campaign-2", title: "planted-title" };
    yield { content: { case: "header", value: header } } as const;
    yield { content: { case: "csvChunk", value: Buffer.from("planted,1\n") } } as const;
  }
  await server.bulkGrants.uploadBulkGrant(upload()).catch(() => {});
  await eventually(async () => expect(lines()).toHaveLength(3), 5_000);
  expect(lines()).toMatchObject([
    { method, programId: "default", id: "reservation-1", reason: "OK" },
    { programId: "default", id: "campaign-1", reason: "BULK_GRANT_NOT_FOUND" },
    { programId: "default", id: "campaign-2" },
  ]);
  for (const { ms } of lines()) expect(ms).toBeGreaterThan(0);
  expect(text.join("")).not.toContain("planted");
  const { text: page } = await readPage(server.operatorsPort, "/metrics");
  const [, sum] = page.match(`meguri_call_seconds_sum{method="${method}"} (.+)\n`) ?? [];
  const [first] = lines() as [{ ms: number }];
  expect(Number(sum) * 1_000).toBeCloseTo(first.ms, 0);
});

test("an upload that is refused before its end holds no bytes any more", async () => {
  let isRefused = false;
  async function* upload() {
    while (!isRefused)
      yield { content: { case: "csvChunk", value: Buffer.alloc(50_000) } } as const;
  }
  const refused = server.bulkGrants.uploadBulkGrant(upload()).finally(() => {
    isRefused = true;
  });
  await expect(refused).rejects.toThrow("header");
  await eventually(async () => {
    // The call ends after its answer.
    expect(lines()).toMatchObject([{ reason: "INVALID_REQUEST" }]);
    const { text: page } = await readPage(server.operatorsPort, "/metrics");
    expect(page).toContain("meguri_body_bytes_in_flight 0\n");
  }, 5_000);
});

test("of the successes of a second 50 have a line, then one in 100 with its rate", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const calls = createCalls(log);
  const open = Array.from({ length: 200 }, () => calls.begin(PointsService.method.getBalance, ""));
  vi.advanceTimersByTime(1_250);
  for (const call of open) call.end();
  expect(lines().slice(0, 50)).toEqual(Array(50).fill(expect.objectContaining({ ms: 1_250 })));
  expect(lines().map(({ sampleRate }) => sampleRate)).toEqual([...Array(50).fill(undefined), 0.01]);
  const { values } = await calls.tallies.seconds.get();
  expect(values.slice(-2).map(({ value }) => value)).toEqual([250, 200]);
});

test("of an audited method each success has a line", () => {
  const calls = createCalls(log);
  const { updateProgram } = ProgramService.method;
  for (let i = 0; i < 200; i++) calls.begin(updateProgram, "").end();
  expect(lines()).toHaveLength(200);
  expect(lines().every(({ sampleRate }) => sampleRate === undefined)).toBe(true);
});

test("what no handler sees is logged once, with the id of its answer", async () => {
  const session = await openSession(server.port);
  const ask = (path: string, headers = {}, chunks = [Buffer.from("x")]) =>
    send(session, { path, headers, chunks });
  const malformed = await ask(grantPath, { "meguri-caller": "shop" }, [Buffer.alloc(4)]);
  const large = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  const answers = [
    malformed,
    await ask(grantPath, { "meguri-caller": "shop" }, [large]),
    await ask(grantPath),
    await ask("/meguri.points.v1.PointsService/Nothing"),
  ];
  session.destroy();
  const url = `http://127.0.0.1:${server.http1Port}`;
  const others = [
    await fetch(`${url}/planted-path`, { method: "POST" }),
    await fetch(`${url}${grantPath}`, { method: "PUT" }),
    await grant({ planted: 1 }),
  ];
  const ids = [
    ...answers.map(({ headers }) => headers["x-request-id"]),
    ...others.map(({ headers }) => headers.get("x-request-id")),
  ];
  await eventually(async () => expect(lines()).toHaveLength(7), 5_000);
  expect(lines().map(({ requestId }) => requestId)).toEqual(ids);
  expect(lines().map(({ reason }) => reason)).toEqual([
    "INVALID_REQUEST",
    "REQUEST_TOO_LARGE",
    "UNAUTHENTICATED",
    "UNIMPLEMENTED",
    "UNIMPLEMENTED",
    "UNIMPLEMENTED",
    "INVALID_REQUEST",
  ]);
  expect(text.join("")).not.toContain("planted");
  const { text: page } = await readPage(server.operatorsPort, "/metrics");
  expect(page).toContain('meguri_refused_before_body_total{reason="UNAUTHENTICATED"} 1\n');
  expect(page).toContain(
    'meguri_calls_total{method="unknown",service="",reason="UNIMPLEMENTED"} 2\n',
  );
  expect(page).toContain("meguri_body_bytes_in_flight 0\n");
});

test("a client that leaves is counted once, and its stream is open no longer", async () => {
  const method = "meguri.notifications.v1.NotificationService/WatchUnreadCounts";
  const leaving = new AbortController();
  const watch = server.notifications.watchUnreadCounts(
    { watches: [{ ownerId: "planted-owner" }] },
    { signal: leaving.signal },
  );
  await watch[Symbol.asyncIterator]().next();
  const open = async () => (await readPage(server.operatorsPort, "/metrics")).text;
  expect(await open()).toContain(`meguri_streams{method="${method}"} 1\n`);
  leaving.abort();
  const socket = connectTcp(server.http1Port, "127.0.0.1");
  socket.write(
    `POST ${grantPath} HTTP/1.1\r\nhost: a\r\nmeguri-caller: shop\r\n` +
      "content-type: application/json\r\ncontent-length: 9\r\n\r\n{",
  );
  await eventually(async () => expect(await open()).toContain("body_bytes_in_flight 1\n"), 5_000);
  socket.destroy();
  await eventually(async () => expect(lines()).toHaveLength(2), 5_000);
  for (const line of lines()) expect(line).toMatchObject({ level: 20, reason: "CANCELED" });
  expect(await open()).toContain(`meguri_streams{method="${method}"} 0\n`);
  expect(text.join("")).not.toContain("planted");
});

test("further services than 100 are others, and methods that do not exist are one", async () => {
  const calls = createCalls();
  for (let i = 0; i < 300; i++) {
    const call = calls.begin(
      i % 2 ? undefined : PointsService.method.getBalance,
      "x".repeat(8_000),
    );
    call.service = `service-${i}`;
    call.end();
  }
  const { values } = await calls.tallies.calls.get();
  expect(new Set(values.map(({ labels }) => labels.service)).size).toBe(101);
  const { values: seconds } = await calls.tallies.seconds.get();
  expect(new Set(seconds.map(({ labels }) => labels.method)).size).toBe(2);
});

test("an error is a warning when it is not the caller's, and its message is not logged", () => {
  const calls = createCalls(log);
  const levelOf = (error: unknown) => {
    calls.begin(undefined, undefined).end(error);
    return lines().at(-1)?.level;
  };
  expect(levelOf(new Error("of planted-user"))).toBe(40);
  expect(lines().at(-1)).toMatchObject({ reason: "INTERNAL" });
  expect(lines().at(-1)?.err).toHaveProperty("at.0");
  expect(text.join("")).not.toContain("planted");
  for (const code of [Code.Unavailable, Code.ResourceExhausted]) {
    expect(levelOf(new ConnectError("", code))).toBe(40);
  }
  expect(levelOf(new ConnectError("", Code.FailedPrecondition))).toBe(30);
  expect(levelOf(new ConnectError("", Code.Canceled))).toBe(20);
});
