/** Tests the limits of connections: their number, and how long they may be idle. */
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  GetBalanceRequestSchema,
  PointsService,
} from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { createListeners, type Ports } from "../../../src/platform/edge/listeners.ts";
import { frame, open } from "../../support/servers/raw-grpc.ts";

let listeners: ReturnType<typeof createListeners>;
let ports: Ports;
let answer: PromiseWithResolvers<object>;

beforeAll(async () => {
  listeners = createListeners({
    corsOrigins: [],
    connections: { maxConnections: 2, idleMs: 500 },
    routes: (router) => {
      router.service(PointsService, { getBalance: () => answer.promise });
    },
  });
  ports = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 });
});
afterAll(() => listeners.drain(1_000));

test.each(["port", "http1Port"] as const)("a third connection to %s is closed", async (name) => {
  const sockets = [0, 1].map(() => connectTcp(ports[name], "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const third = connectTcp(ports[name], "127.0.0.1");
  third.on("error", () => {});
  await once(third.resume(), "close");
  expect(sockets.map(({ readyState }) => readyState)).toEqual(["open", "open"]);
  for (const socket of sockets) socket.destroy();
});

const openSession = async (): Promise<ClientHttp2Session> => {
  const session = connect(`http://127.0.0.1:${ports.port}`);
  await once(session, "connect");
  return session;
};

test("an idle connection is closed, but not while it has a stream", async () => {
  await once(await openSession(), "close");

  answer = Promise.withResolvers();
  const busy = await openSession();
  const request = toBinary(GetBalanceRequestSchema, create(GetBalanceRequestSchema));
  const path = `/${PointsService.typeName}/GetBalance`;
  const stream = open(busy, { path, chunks: [frame(request)] }).resume();
  // Idle as long as the busy one, so its time is over, too.
  await once(await openSession(), "close");
  expect(busy.closed).toBe(false);
  answer.resolve({});
  await once(stream, "close");
  await once(busy, "close");
});
