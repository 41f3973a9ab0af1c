/** Plays the vectors of Wycheproof for JSON Web Signatures against the verification of tokens. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { algorithms, createJwtAuthenticator } from "../../src/platform/auth/jwt.ts";
import { fileKeys } from "../../src/platform/auth/jwt-keys.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { readDeviations } from "../support/others/deviations.ts";
import { findModule } from "../support/others/go-tools.ts";

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: string;
  readonly result: "valid" | "invalid" | "acceptable";
}

interface Group {
  readonly comment: string;
  /** Keys as JWK; a symmetric one is private only. */
  readonly public?: object;
  readonly private: object;
  readonly tests: readonly Vector[];
}

const log = createLogger("test", "silent");
const opened: { close(): void }[] = [];
let folder: string;
let groups: readonly Group[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-jws-"));
  const file = "testvectors_v1/json_web_signature_test.json";
  const text = await readFile(join(await findModule("wycheproof"), file), "utf8");
  groups = (JSON.parse(text) as { readonly testGroups: readonly Group[] }).testGroups;
});

afterAll(async () => {
  for (const one of opened) one.close();
  await rm(folder, { recursive: true });
});

test("exactly the valid signatures are accepted, but for the known deviations", async () => {
  const unlike: string[] = [];
  let accepted = 0;
  for (const group of groups) {
    const verify = await verifierOf(group);
    for (const { tcId, comment, jws, result } of group.tests) {
      const isAccepted = await verify(jws);
      if (isAccepted) accepted += 1;
      if (isAccepted !== (result === "valid")) {
        const verdict = isAccepted ? "accepted" : "refused";
        unlike.push(`${verdict}: ${tcId} ${group.comment}: ${comment}`);
      }
    }
  }
  expect(accepted).toBeGreaterThan(10);
  expect(unlike.sort()).toEqual(readDeviations("json-web-signature-deviations.txt"));
});

/**
 * Says whether a signature is that of the group's key. The verification of tokens does the same and
 * then reads claims, which the vectors have none of: it has to refuse all of them.
 */
async function verifierOf(group: Group): Promise<(jws: string) => Promise<boolean>> {
  const keyFile = join(folder, "keys.json");
  await writeFile(keyFile, JSON.stringify({ keys: [group.public ?? group.private] }));
  if (!group.public) {
    expect(() => fileKeys(keyFile, log)).toThrow("private or secret key");
    return async () => false;
  }
  const source = fileKeys(keyFile, log);
  const keys = await source.current();
  const authenticator = createJwtAuthenticator({
    ...{ keys: { keyFile }, log, requiredLimits: [], claimPrefix: "" },
    ...{ issuer: "https://issuer.test", audience: "meguri" },
  });
  opened.push(source, authenticator);
  return async (jws) => {
    const header = () => `Bearer ${jws}`;
    const call = async () => authenticator.authenticate({ header, socket: undefined });
    await expect(call()).rejects.toThrow(/token/);
    return compactVerify(jws, keys.get, { algorithms }).then(
      () => true,
      () => false,
    );
  };
}
