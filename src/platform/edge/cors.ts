/** Lets pages of other origins call, if their origin is in a list. */
import { cors as connectHeaders } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import cors from "cors";
import { requestIdHeader } from "./calls.ts";

type Handler = ReturnType<typeof connectNodeAdapter>;

/** The headers of calls besides those of the protocols. */
const ownHeaders = ["authorization", "meguri-caller", "meguri-key"];

/** How long a browser may remember an answer. Chromium allows no longer time. */
const maxAgeSeconds = 7_200;

/** Answers preflights of these origins. Others get no headers of CORS, so their calls fail. */
export function allowOrigins(origins: readonly string[], handle: Handler): Handler {
  if (origins.length === 0) return handle;
  const apply = cors({
    origin: (origin, done) => done(null, origin !== undefined && origins.includes(origin)),
    methods: [...connectHeaders.allowedMethods],
    allowedHeaders: [...connectHeaders.allowedHeaders, ...ownHeaders],
    exposedHeaders: [...connectHeaders.exposedHeaders, requestIdHeader],
    maxAge: maxAgeSeconds,
  });
  return (request, response) => apply(request, response, () => handle(request, response));
}
