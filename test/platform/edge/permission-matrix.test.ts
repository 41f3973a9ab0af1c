/**
 * Tests every RPC of the contract with every kind of token: who may not call is refused and changes
 * nothing, and who may call is not refused for permission.
 */
import { type DescField, type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role, role } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { allScopes, fieldScopesOf, scopeOf } from "../../support/fixtures/descriptors.ts";
import { goodRequests, type Init, target } from "../../support/fixtures/good-requests.ts";
import { callRpc, type Rpc, rpcs } from "../../support/servers/any-rpc.ts";
import {
  claimsOf,
  createSigningKey,
  type Issuer,
  jwtVariables,
  type SigningKey,
  signToken,
  startIssuer,
} from "../../support/servers/issuer.ts";
import { toRefusal } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

/** The claims that keep a token within what the good requests name. */
const fitting = {
  meguri_programs: ["default", "p"],
  meguri_owners: ["o"],
  meguri_actors: ["u"],
};

/** The fields of a request and of the messages in it. */
function fieldsOf(message: DescMessage, seen = new Set<DescMessage>()): DescField[] {
  if (seen.has(message)) return [];
  seen.add(message);
  const nested = message.fields.flatMap((field) =>
    field.message ? fieldsOf(field.message, seen) : [],
  );
  return [...message.fields, ...nested];
}

const names = ({ input }: DescMethod, ...roles: Role[]): boolean =>
  fieldsOf(input).some((field) => roles.includes(getOption(field, role)));

let key: SigningKey;
let issuer: Issuer;
let server: MemoryServer;

beforeAll(async () => {
  key = await createSigningKey("right", "RS256");
  issuer = await startIssuer([key]);
  server = await startMemoryServer(jwtVariables(issuer));
  const token = await tokenFor(allScopes);
  await call(rpcOf("RegisterTarget"), token, { targetName: target, ownerId: "o" });
  await call(rpcOf("CreateProgram"), token, { programId: "other" });
});

afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

const tokenFor = (scopes: readonly string[], changes: Init = {}): Promise<string> =>
  signToken(key, claimsOf({ scope: scopes.join(" "), ...changes }));

function rpcOf(name: string): Rpc {
  const rpc = rpcs.find((one) => one.name === name);
  if (rpc === undefined) throw new Error(`there is no RPC ${name}`);
  return rpc;
}

/** Sends a request, and returns the first message of the answer. */
function call(rpc: Rpc, token: string | undefined, request: Init, transport = server.handlers) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return callRpc(rpc, transport, request, { headers });
}

/** The reason of the refusal of the RPC's good request; undefined if it is answered. */
async function reasonFor(
  rpc: Rpc,
  token: string | undefined,
  transport?: Transport,
): Promise<string | undefined> {
  try {
    await call(rpc, token, goodRequests[rpc.name] ?? {}, transport);
    return undefined;
  } catch (error) {
    return toRefusal(error).reason;
  }
}

/** Tokens that no server may accept, whatever they permit. */
async function forgedTokens(): Promise<Record<string, string | undefined>> {
  const now = Math.floor(Date.now() / 1_000);
  const scope = allScopes.join(" ");
  const hmac = (secret: string) =>
    new SignJWT(claimsOf({ scope }))
      .setProtectedHeader({ alg: "HS256", kid: key.kid, typ: "at+jwt" })
      .sign(Buffer.from(secret));
  return {
    "no token": undefined,
    "bad signature": await signToken(await createSigningKey(key.kid, "RS256"), claimsOf({ scope })),
    expired: await tokenFor(allScopes, { exp: now - 60 }),
    "not yet valid": await tokenFor(allScopes, { nbf: now + 600 }),
    "wrong audience": await tokenFor(allScopes, { aud: "web" }),
    "wrong issuer": await tokenFor(allScopes, { iss: "https://other.test" }),
    "algorithm none": new UnsecuredJWT(claimsOf({ scope })).encode(),
    "HMAC with the public key": await hmac(key.pem),
    "HMAC with the public JWK": await hmac(JSON.stringify(key.jwk)),
    "unknown key": await signToken(await createSigningKey("unknown"), claimsOf({ scope })),
  };
}

/** Good tokens that do not permit an RPC. */
async function insufficientTokens({ method }: Rpc): Promise<Record<string, string>> {
  const others = allScopes.filter((one) => one !== scopeOf(method));
  const namesOwner = names(method, Role.OWNER, Role.TARGET);
  const limited = (limit: Init) => tokenFor(allScopes, { ...fitting, ...limit });
  return {
    "no scope": await tokenFor([]),
    "all other scopes": await tokenFor(others),
    ...(fieldScopesOf(method).length > 0 && {
      "no scope of a field": await tokenFor([scopeOf(method)]),
    }),
    ...(names(method, Role.PROGRAM) && {
      "wrong program": await limited({ meguri_programs: ["other"] }),
      "no program": await limited({ meguri_programs: [] }),
    }),
    ...(namesOwner && { "wrong owner": await limited({ meguri_owners: ["x"] }) }),
    ...(names(method, Role.ACTOR) && { "wrong actor": await limited({ meguri_actors: ["x"] }) }),
  };
}

describe("the contract", () => {
  test.each(rpcs)("names a scope for $name", ({ method }) => {
    expect(scopeOf(method)).toMatch(/^[a-z]+\.[a-z]+$/);
  });

  /** What the fields of requests with these names have to be. */
  const rolesByName: Readonly<Record<string, readonly Role[]>> = {
    program_id: [Role.PROGRAM],
    user_id: [Role.USER, Role.ACTOR],
    viewer_id: [Role.ACTOR],
    owner_id: [Role.OWNER],
    owner_ids: [Role.OWNER],
    target_name: [Role.TARGET],
    target_names: [Role.TARGET],
  };

  /** Fields on which neither limits nor the key of a call depend. */
  const withoutRole = [
    // A person who is muted or blocked does nothing.
    "meguri.notifications.v1.SetPersonMutedRequest.user_id",
    "meguri.notifications.v1.BlockPersonRequest.user_id",
    // A sheet has the users of many accounts.
    "meguri.bulkgrants.v1.NewRow.user_id",
  ];

  test("gives every field that names something its role", () => {
    const wrong = rpcs.flatMap(({ method }) =>
      fieldsOf(method.input)
        .filter((field) => rolesByName[field.name])
        .filter((field) => !rolesByName[field.name]?.includes(getOption(field, role)))
        .map(({ parent, name }) => `${parent.typeName}.${name}`),
    );
    expect([...new Set(wrong)].sort()).toEqual([...withoutRole].sort());
  });

  test("has no other field with the name of an id that depends on a role", () => {
    const known = new Set(Object.keys(rolesByName));
    const own = /^(event|use_event|hold|job|notification|reservation|(reversed_)?bulk_grant)_id$/;
    const others = rpcs
      .flatMap(({ method }) => fieldsOf(method.input).map(({ name }) => name))
      .filter((name) => /_ids?$/.test(name) && !known.has(name) && !own.test(name));
    expect(others).toEqual([]);
  });
});

describe("refused", () => {
  let before: string[];
  let forged: Record<string, string | undefined>;

  beforeAll(async () => {
    forged = await forgedTokens();
    before = await dump(server);
  });

  test.each(rpcs)("$name with every wrong token", async (rpc) => {
    const unauthenticated = Object.entries(forged).map(
      async ([kind, token]) => [kind, await reasonFor(rpc, token)] as const,
    );
    expect(Object.fromEntries(await Promise.all(unauthenticated))).toEqual(
      Object.fromEntries(Object.keys(forged).map((kind) => [kind, "UNAUTHENTICATED"])),
    );
    const tokens = await insufficientTokens(rpc);
    const denied = Object.entries(tokens).map(
      async ([kind, token]) => [kind, await reasonFor(rpc, token)] as const,
    );
    expect(Object.fromEntries(await Promise.all(denied))).toEqual(
      Object.fromEntries(Object.keys(tokens).map((kind) => [kind, "PERMISSION_DENIED"])),
    );
  });

  test("calls are refused over gRPC, too", async () => {
    const baseUrl = `http://127.0.0.1:${server.port}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const overGrpc = createGrpcTransport({ baseUrl, sessionManager });
    const withoutScope = await tokenFor([]);
    for (const rpc of rpcs) {
      expect(await reasonFor(rpc, undefined, overGrpc), rpc.name).toBe("UNAUTHENTICATED");
      expect(await reasonFor(rpc, withoutScope, overGrpc), rpc.name).toBe("PERMISSION_DENIED");
    }
    sessionManager.abort();
  });

  test("calls have left nothing written", async () => {
    expect(await dump(server)).toEqual(before);
  });
});

describe("permitted", () => {
  test.each(rpcs)("$name with its scope, and within limits", async (rpc) => {
    const needed = [scopeOf(rpc.method), ...fieldScopesOf(rpc.method)];
    for (const token of [await tokenFor(needed), await tokenFor(needed, fitting)]) {
      const reason = await reasonFor(rpc, token);
      expect(["UNAUTHENTICATED", "PERMISSION_DENIED"]).not.toContain(reason);
    }
  });

  test("ListPrograms shows a limited caller its own programs only", async () => {
    const listed = async (claims: Init) => {
      const token = await tokenFor(["programs.read"], claims);
      const answer = await call(rpcOf("ListPrograms"), token, {});
      const { programs } = answer as { programs: { programId: string }[] };
      return programs.map(({ programId }) => programId);
    };
    expect(await listed({})).toEqual(expect.arrayContaining(["default", "other"]));
    expect(await listed({ meguri_programs: ["other"] })).toEqual(["other"]);
  });

  test("health checks without a token", async () => {
    await expect(server.health.check({})).resolves.toBeDefined();
  });
});
