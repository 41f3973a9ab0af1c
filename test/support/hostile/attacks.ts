/**
 * What hostile clients do to a server, at full strength. An attack goes on until its signal aborts,
 * and opens again what the server closes.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import type { DescMethod, MessageInitShape } from "@bufbuild/protobuf";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ReactionService } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { frame, open, type RawCall, send } from "../servers/raw-grpc.ts";
import { deepJson, emptyObjects, emptyRows, sheets, unknownFields } from "./bodies.ts";
import { encoded, pathOf, postJson, statusOf } from "./calls.ts";
import { abuses, opening } from "./frames.ts";
import { hold, inSessions, pause, repeat, type Site } from "./site.ts";

type Attack = (site: Site) => Promise<void>;

const mib = 2 ** 20;
const { getBalance } = PointsService.method;
const { checkSheet, uploadBulkGrant } = BulkGrantService.method;
const { watchUnreadCounts } = NotificationService.method;
const { react, registerTarget } = ReactionService.method;

const empty = frame(new Uint8Array());
const bearer = ({ token }: Site) => ({ authorization: `Bearer ${token}` });

const callOf = <M extends DescMethod>(
  site: Site,
  method: M,
  init: MessageInitShape<M["input"]>,
): RawCall => ({
  path: pathOf(method),
  headers: bearer(site),
  chunks: [frame(encoded(method, init))],
});

/** Room for the id and the tags beside the 2 MiB of the largest sheet. */
const sheetRequest = (csv: Buffer) =>
  encoded(checkSheet, { bulkGrantId: "b", content: { case: "csv", value: csv } });

/** Whole bodies of 4 MiB, and of the 2 MiB that are allowed, four at a time. */
const wholeBodies = (withToken: boolean): Attack => {
  const messages: readonly (readonly [Uint8Array, RawCall["headers"]])[] = [
    [emptyRows(4, 4 * mib), {}],
    [unknownFields(4 * mib), {}],
    [gzipSync(emptyRows(4, 4 * mib)), { "grpc-encoding": "gzip" }],
    [gzipSync(unknownFields(2 * mib)), { "grpc-encoding": "gzip" }],
    [emptyRows(4, 2 * mib), {}],
    [unknownFields(2 * mib), {}],
    ...Object.values(sheets).map((sheet) => [sheetRequest(sheet(2 * mib)), {}] as const),
  ];
  const grpc = messages.map(([message, headers]) => ({
    path: pathOf(checkSheet),
    headers: headers ?? {},
    chunks: [frame(message, headers && "grpc-encoding" in headers ? 1 : 0)],
  }));
  const json = [emptyObjects(4 * mib), deepJson(4 * mib), emptyObjects(2 * mib), deepJson(2 * mib)];
  return (site) => {
    const headers = withToken ? bearer(site) : {};
    return inSessions(site, 1, (session, closed) =>
      repeat(closed, 4, async (n) => {
        const [call, text] = [grpc[n % grpc.length], json[n % json.length]];
        if (call) {
          const all = { ...call, headers: { ...call.headers, ...headers } };
          site.count(`gRPC ${statusOf(await send(session, all))}`);
        }
        if (text)
          site.count(`JSON ${await postJson(site.http1Port, pathOf(checkSheet), headers, text)}`);
      }),
    );
  };
};

/** 200 bodies of 2 MiB on one connection that lack their last bytes. */
const unfinishedBodies =
  (withToken: boolean): Attack =>
  (site) => {
    const body = frame(sheetRequest(Buffer.alloc(2 * mib, "x"))).subarray(0, -1_000);
    return inSessions(site, 1, (session, closed) =>
      repeat(closed, 200, async () => {
        const headers = withToken ? bearer(site) : {};
        const call = { path: pathOf(checkSheet), headers, chunks: [body], unfinished: true };
        site.count(statusOf(await send(session, call)));
        await pause(closed, 100);
      }),
    );
  };

/** Connections of HTTP/1.1 that send a byte of their body now and then. */
const slowBodies: Attack = (site) => {
  const request =
    `POST ${pathOf(checkSheet)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${site.token}\r\n` +
    "content-type: application/json\r\ncontent-length: 2000000\r\n\r\n{";
  return repeat(site.signal, 500, async () => {
    site.count(await hold(site, site.http1Port, request, 1_000));
  });
};

/** Connections that say nothing, or begin to. */
const idleConnections: Attack = (site) => {
  const beginnings = ["", "POST / HTTP/1.1\r\nhost: x\r\nx: ", opening];
  return repeat(site.signal, 2_000, async (n) => {
    const port = n % 2 ? site.port : site.http1Port;
    site.count(await hold(site, port, beginnings[n % 3] ?? ""));
  });
};

/** 10,000 health watches on ten connections. Those that are refused try again after 30 s. */
const healthWatches: Attack = (site) =>
  inSessions(site, 10, (session, closed) =>
    repeat(closed, 1_000, async () => {
      const call = { path: "/grpc.health.v1.Health/Watch", chunks: [empty] };
      site.count(statusOf(await send(session, call)));
      await pause(closed, 30_000);
    }),
  );

/** One service that watches as many owners as it can. */
const manyStreams: Attack = (site) =>
  inSessions(site, 1, (session, closed) =>
    repeat(closed, 200, async (n) => {
      const watches = Array.from({ length: 100 }, (_, k) => ({ ownerId: `greedy-${n}-${k}` }));
      const call = callOf(site, watchUnreadCounts, { watches });
      site.count(statusOf(await send(session, call)));
      await pause(closed, 1_000 + 2_000 * ((n * 0.618) % 1));
    }),
  );

/** Watchers that never read, while what they watch changes all the time. */
const slowReaders: Attack = async (site) => {
  const targetName = { type: "post", id: "hostile" };
  const readers = inSessions(
    site,
    1,
    (session, closed) =>
      repeat(closed, 100, async () => {
        site.count("watch");
        const call = callOf(site, watchUnreadCounts, { watches: [{ ownerId: "greedy" }] });
        const stream = open(session, call);
        stream.on("error", () => undefined);
        if (!stream.closed) await once(stream, "close");
        await pause(closed, 200);
      }),
    { initialWindowSize: 0 },
  );
  const writer = inSessions(site, 1, async (session, closed) => {
    await send(session, callOf(site, registerTarget, { targetName, ownerId: "greedy" }));
    await repeat(closed, 1, async () => {
      const userId = randomBytes(8).toString("hex");
      const like = { targetName, userId, displayName: userId };
      site.count(`like ${statusOf(await send(session, callOf(site, react, like)))}`);
      await pause(closed, 20);
    });
  });
  await Promise.all([readers, writer]);
};

/**
 * 40 uploads at a time that send their pieces one after another. Their rows are wrong, so that they
 * cost the server all its work, and the emulated store none.
 */
const manyUploads: Attack = (site) => {
  const piece = encoded(uploadBulkGrant, {
    content: {
      case: "csvChunk",
      value: sheets["rows with every error"]?.(60_000) ?? Buffer.alloc(0),
    },
  });
  return inSessions(site, 4, (session, closed) =>
    repeat(closed, 10, async (n) => {
      const header = { bulkGrantId: `hostile-${n}`, validateOnly: true };
      const first = encoded(uploadBulkGrant, { content: { case: "header", value: header } });
      const call = { path: pathOf(uploadBulkGrant), headers: bearer(site), chunks: [frame(first)] };
      const stream = open(session, { ...call, unfinished: true });
      site.count("upload");
      let ended = false;
      stream.on("error", () => undefined);
      stream.on("close", () => {
        ended = true;
      });
      stream.resume();
      for (let i = 0; i < 200 && !ended && !closed.aborted; i++) {
        stream.write(frame(piece));
        await pause(closed, 20);
      }
      stream.destroy();
    }),
  );
};

/** Up to 6,000 calls a second, each sent 10 ms after another one was answered. */
const floodOf =
  (headersOf: (site: Site) => RawCall["headers"]): Attack =>
  (site) =>
    inSessions(site, 2, (session, closed) =>
      repeat(closed, 32, async () => {
        const call = {
          ...callOf(site, getBalance, { userId: "u" }),
          headers: headersOf(site) ?? {},
        };
        site.count(statusOf(await send(session, call)));
        await pause(closed, 10);
      }),
    );

/** The token with a signature of nobody. */
const forged = ({ token }: Site) => {
  const signed = token.slice(0, token.lastIndexOf("."));
  return { authorization: `Bearer ${signed}.${randomBytes(256).toString("base64url")}` };
};

/** Frames of one abuse after another on two connections, as fast as the server reads them. */
const framesOf =
  (name: keyof typeof abuses): Attack =>
  (site) =>
    repeat(site.signal, 2, () => {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      const socket = connect(site.port, "127.0.0.1", () => socket.write(opening));
      const stop = () => socket.destroy();
      site.signal.addEventListener("abort", stop);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        site.signal.removeEventListener("abort", stop);
        site.count("connection closed");
        resolve();
      });
      socket.resume();
      let turn = 0;
      const write = () => {
        if (socket.destroyed) return;
        const frames = Array.from({ length: 1_000 }, () => abuses[name]?.(turn++) ?? []).flat();
        // In a turn of its own: a loop would not hear that the attack ends while the server reads.
        if (socket.write(Buffer.concat(frames))) setImmediate(write);
        site.count("1,000 turns");
      };
      socket.on("connect", write);
      socket.on("drain", write);
      return closed;
    });

/** The attacks of strangers and greedy callers, by their names. */
export const attacks: Readonly<Record<string, Attack>> = {
  "whole bodies without a token": wholeBodies(false),
  "whole bodies with a token": wholeBodies(true),
  "unfinished bodies without a token": unfinishedBodies(false),
  "unfinished bodies with a token": unfinishedBodies(true),
  "slow bodies": slowBodies,
  "idle connections": idleConnections,
  "10,000 health watches": healthWatches,
  "streams of one service": manyStreams,
  "readers that do not read": slowReaders,
  "40 uploads at a time": manyUploads,
  "calls without a token": floodOf(() => ({})),
  "calls with forged tokens": floodOf(forged),
  "calls above the rate": floodOf(bearer),
};

/** The attacks with frames of HTTP/2, which a server's CPU has to read before it can refuse any. */
export const frameAttacks: Readonly<Record<string, Attack>> = Object.fromEntries(
  Object.keys(abuses).map((name) => [name, framesOf(name)]),
);
