/** Tests that a stream of the server ends when its caller loses the right to it, and only then. */
import { Code, createClient, createRouterTransport, type Interceptor } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { authenticateAgainKey, identityKey } from "../../../src/platform/edge/context.ts";
import { toConnectError } from "../../../src/platform/edge/errors.ts";
import { endWithRight } from "../../../src/platform/edge/stream-rights.ts";
import type { Identity } from "../../../src/platform/ports/identity.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";

const scopes = new Set(["notifications.read"]);
const opened: Identity = { caller: asService("shop"), scopes, ownerPrefixes: ["shop-"] };

/**
 * Opens a stream of `shop-1` that never sends anything. `answers` are what the checks find, the
 * last one again and again. Returns how the stream ended, and how many checks there were.
 */
async function play(answers: readonly (Identity | DomainError)[], signal?: AbortSignal) {
  let checks = 0;
  let wasAborted = false;
  const admit: Interceptor = (next) => async (req) => {
    req.contextValues.set(identityKey, opened);
    req.contextValues.set(authenticateAgainKey, () => {
      const answer = answers[Math.min(checks++, answers.length - 1)];
      if (answer === undefined || answer instanceof DomainError) throw answer;
      return answer;
    });
    return next(req);
  };
  const mapErrors: Interceptor = (next) => async (req) => {
    const response = await next(req);
    if (!response.stream) return response;
    async function* mapped() {
      try {
        if (response.stream) yield* response.message;
      } catch (error) {
        throw toConnectError(error);
      }
    }
    return { ...response, message: mapped() };
  };
  const owners = { of: async () => "shop-1" };
  const interceptors = [mapErrors, admit, endWithRight(owners as never, 1)];
  const ended = Promise.withResolvers<void>();
  const transport = createRouterTransport(
    ({ service }) => {
      service(NotificationService, {
        async *watchUnreadCounts(_, context) {
          await new Promise<void>((resolve) => {
            context.signal.addEventListener("abort", () => resolve());
          });
          wasAborted = true;
          ended.resolve();
        },
      });
    },
    { router: { interceptors } },
  );
  const client = createClient(NotificationService, transport);
  const watches = [{ ownerId: "shop-1" }];
  const error = await (async () => {
    for await (const _ of client.watchUnreadCounts({ watches }, signal && { signal }));
  })().catch((thrown: unknown) => thrown);
  await ended.promise;
  return { error, checks: () => checks, wasAborted };
}

const expired = new DomainError("UNAUTHENTICATED", "the token has expired");

test("when the caller is not authenticated any more", async () => {
  const { error, wasAborted } = await play([opened, opened, expired]);
  expect(error).toMatchObject({ code: Code.Unauthenticated, rawMessage: "the token has expired" });
  expect(wasAborted).toBe(true);
});

test("when the callers' file does not have the caller any more", async () => {
  const unknown = new DomainError("PERMISSION_DENIED", "the callers' file does not have it");
  const { error } = await play([opened, unknown]);
  expect(error).toMatchObject({ code: Code.PermissionDenied });
});

test("when the caller lacks the scope", async () => {
  const { error } = await play([{ ...opened, scopes: new Set(["points.read"]) }]);
  expect(error).toMatchObject({
    code: Code.PermissionDenied,
    rawMessage: "the caller lacks the scope notifications.read",
  });
});

test("when the caller may not use what its request names", async () => {
  const { error } = await play([{ ...opened, ownerPrefixes: ["cafe-"] }]);
  expect(error).toMatchObject({
    code: Code.PermissionDenied,
    rawMessage: "the caller may not use this owner_id",
  });
});

test("not while a check fails for another reason, or the caller may do other things", async () => {
  const away = new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
  const wider = { ...opened, scopes: new Set([...scopes, "points.read"]) };
  const { error, checks } = await play([away, wider, away, { ...opened }, expired]);
  expect(error).toMatchObject({ rawMessage: "the token has expired" });
  expect(checks()).toBe(5);
});

test("and is not checked after its client has left", async () => {
  const controller = new AbortController();
  const leaving = play([opened], controller.signal);
  setTimeout(() => controller.abort(), 10);
  const { checks } = await leaving;
  const before = checks();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(checks()).toBe(before);
});
