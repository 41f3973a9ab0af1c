/** Tests the examples and the table of scopes in docs/run/identity.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { audited } from "../../src/gen/meguri/access/v1/access_pb.ts";
import { parseCallers } from "../../src/platform/auth/callers-file.ts";
import { createJwtAuthenticator } from "../../src/platform/auth/jwt.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { fieldScopesOf, scopeOf, services } from "../support/fixtures/descriptors.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";
import {
  createSigningKey,
  type Issuer,
  type SigningKey,
  signToken,
  startIssuer,
} from "../support/servers/issuer.ts";

const document = "docs/run/identity.md";
let key: SigningKey;
let issuer: Issuer;

beforeAll(async () => {
  key = await createSigningKey("docs");
  issuer = await startIssuer([key]);
});

afterAll(() => issuer.stop());

test("the example of claims is the identity that the text describes", async () => {
  const claims = JSON.parse(codeNamed(document, "token"));
  const { authenticate, close } = createJwtAuthenticator({
    keys: { jwksUrl: issuer.jwksUrl },
    issuer: claims.iss,
    audience: claims.aud,
    claimPrefix: "meguri_",
    requiredLimits: ["programs", "owners", "actors", "holds", "event_types"],
    log: createLogger("test", "silent"),
  });
  const exp = Math.floor(Date.now() / 1_000) + 60;
  const token = await signToken(key, { ...claims, exp });
  const identity = await authenticate({ header: () => `Bearer ${token}`, socket: undefined });
  close();
  expect(identity).toEqual({
    caller: { service: "shop", subject: "alice" },
    scopes: new Set(["points.grant", "points.read"]),
    programIds: new Set(["default", "cafe"]),
    ownerPrefixes: ["shop-"],
    actorPrefixes: ["member-"],
    holds: "own",
    eventTypes: ["points.", "hold.expired"],
  });
});

test("the example of the callers' file is accepted", () => {
  expect(
    parseCallers(codeNamed(document, "callers"), []).get("spiffe://example.org/posts"),
  ).toEqual({
    caller: { service: "posts", subject: "spiffe://example.org/posts" },
    scopes: new Set(["targets.write", "reactions.write"]),
    ownerPrefixes: ["author-"],
    actorPrefixes: ["member-"],
  });
});

test("the list of audited methods is that of the contract", () => {
  const text = readFileSync(join(projectRoot, "docs/run/watching.md"), "utf8");
  const [, section = ""] = text.split("\n## Who did it\n");
  const listed = [
    ...section
      .split("\n## ", 1)
      .join()
      .matchAll(/^(?:- | {2})`.*/gm),
  ].flatMap(([line]) => [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const methods = services.flatMap((service) => service.methods);
  const names = methods.filter((each) => getOption(each, audited)).map(({ name }) => name);
  expect(listed.sort()).toEqual(names.sort());
});

test("the table of scopes is that of the contract", () => {
  const declared = services.flatMap(({ methods }) =>
    methods.flatMap((method) =>
      [scopeOf(method), ...fieldScopesOf(method)].map((name) => `${name} ${method.name}`),
    ),
  );
  const text = readFileSync(join(projectRoot, document), "utf8");
  // The names of policies end with `.json`.
  const rows = [...text.matchAll(/^\| `([a-z]+\.(?!json)[a-z]+)` \| (.+) \|$/gm)];
  const listed = rows.flatMap(([, name, methods = ""]) =>
    [...methods.matchAll(/`(\w+)`/g)].map(([, method]) => `${name} ${method}`),
  );
  expect(listed.sort()).toEqual(declared.sort());
});
