/** Opens connections that no client would open: garbage, broken frames, slow and dropped ones. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** How long the end of a dropped connection may take. */
const patienceMs = 30_000;

/** How long the server may keep a connection that sends nothing useful before the test drops it. */
const keepMs = 20;

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A frame of HTTP/2 with any type, flags, stream and content. */
export function frame(type: number, flags: number, stream: number, content: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

const settings = frame(4, 0, 0, Buffer.alloc(0));

const path = "/meguri.points.v1.PointsService/GetBalance";
const post = (host: string, more = "", version = "1.1") =>
  `POST ${path} HTTP/${version}\r\n${host}content-type: application/json\r\n` +
  `meguri-caller: fuzz\r\n${more}\r\n`;
const host = "host: localhost\r\n";
const bodyOf = (length: number) => `content-length: ${length}\r\n`;

/** What is sent on the port of HTTP/1.1, from any choice. */
const http1: readonly ((choice: number) => string | Buffer)[] = [
  () => "",
  (choice) => Buffer.from(Array.from({ length: choice % 400 }, (_, i) => (choice * (i + 1)) % 256)),
  () => "GET / HTTP/9.9\r\n\r\n",
  () => `${post("host: [\r\n", bodyOf(2))}{}`,
  () => `${post("host: a b\r\n", bodyOf(2))}{}`,
  () => `${post("host: localhost:99999999\r\n", bodyOf(2))}{}`,
  () => `${post("", bodyOf(2), "1.0")}{}`,
  () => `${post("host:\r\n", bodyOf(2))}{}`,
  () => `${post(host, bodyOf(100))}{}`,
  () => `${post(host, "content-length: 2\r\ncontent-length: 3\r\n")}{}`,
  () => `${post(host, "transfer-encoding: chunked\r\n")}ZZ\r\n{}\r\n`,
  () => `${post(host, "transfer-encoding: chunked\r\n")}2\r\n{}\r\n`,
  () => post(host, `x: ${"y".repeat(20_000)}\r\n`),
  () => post(host, "expect: 100-continue\r\n"),
  () => post(host, "connection: upgrade\r\nupgrade: h2c\r\n"),
  () => `CONNECT localhost:1 HTTP/1.1\r\n${host}\r\n`,
  () => `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
  () => `POST http://[::${path} HTTP/1.1\r\n${host}\r\n`,
  () => `GET ${path}?message=%ff&base64=1&encoding=proto HTTP/1.1\r\n${host}\r\n`,
  () => preface,
];

/** What is sent on the port of HTTP/2. */
const http2: readonly ((choice: number) => string | Buffer)[] = [
  () => "",
  (choice) => Buffer.from(Array.from({ length: choice % 400 }, (_, i) => (choice * (i + 1)) % 256)),
  () => `${post(host, bodyOf(2))}{}`,
  () => preface.subarray(0, 10),
  () => preface,
  (choice) => Buffer.concat([preface, settings, randomFrame(choice), randomFrame(choice * 7)]),
  // DATA for a stream that was never opened, headers that are not HPACK, and a frame too large.
  () => Buffer.concat([preface, settings, frame(0, 1, 1, Buffer.from("x"))]),
  () => Buffer.concat([preface, settings, frame(1, 5, 1, Buffer.alloc(60, 0xff))]),
  () => Buffer.concat([preface, settings, frame(0, 0, 1, Buffer.alloc(2 ** 17))]),
  () => Buffer.concat([preface, settings, ...Array(200).fill(frame(6, 0, 0, Buffer.alloc(8)))]),
  () => Buffer.concat([preface, settings, ...Array(200).fill(frame(3, 0, 1, Buffer.alloc(4)))]),
  () => Buffer.concat([preface, settings, frame(8, 0, 0, Buffer.alloc(4, 0x7f))]),
];

const randomFrame = (choice: number) =>
  frame(choice % 12, choice % 256, (choice * 3) % 9, Buffer.alloc(choice % 90, choice % 256));

/**
 * Opens a connection, sends what `choice` says, perhaps byte by byte and perhaps without reading
 * the answer, and drops it. Resolves when it is closed.
 */
export async function abuse(port: number, isHttp2: boolean, choice: number): Promise<void> {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const closed = once(socket, "close").catch(() => undefined);
  const kinds = isHttp2 ? http2 : http1;
  const bytes = Buffer.from(kinds[choice % kinds.length]?.(choice) ?? "");
  if (choice % 5 === 0) socket.pause();
  else socket.resume();
  if (choice % 7 === 0) {
    for (const byte of bytes.subarray(0, 40)) {
      if (!socket.write(Buffer.of(byte))) break;
      await sleep(1);
    }
  } else socket.write(bytes);
  await Promise.race([closed, sleep(keepMs)]);
  if (choice % 3 === 0) socket.resetAndDestroy();
  else socket.destroy();
  const dropped = await Promise.race([
    closed.then(() => true),
    sleep(patienceMs, false, { ref: false }),
  ]);
  if (!dropped) throw new Error(`connection ${choice} of HTTP/${isHttp2 ? 2 : 1} does not close`);
}
