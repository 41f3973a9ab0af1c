/**
 * Makes the alerts of work that was missed, of old keys and of Temporal true by real faults, as a
 * real Prometheus sees them.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UpdateItemCommand, type UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asService } from "../../src/platform/words/caller.ts";
import { advanceTime } from "../../src/platform/work/test-clock.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import { createProgram } from "../../src/points/use-cases/programs/commands.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { comesTo, submit, usersOf } from "../support/fixtures/bulk-grants.ts";
import { createAuthority, loopbackNames } from "../support/fixtures/certificates.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type AlertStack, expressions, startAlertStack } from "../support/servers/alerts.ts";
import {
  audience,
  createSigningKey,
  issuerName,
  type SigningKey,
} from "../support/servers/issuer.ts";
import type { WorkerStack } from "../support/servers/worker.ts";
import { inForm } from "../support/soak.ts";

const dayMs = 86_400_000;

let alerts: AlertStack;
let folder: string;
let keyFile: string;
let key: SigningKey;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-keys-"));
  keyFile = join(folder, "key.pem");
  key = await createSigningKey("key");
  await writeFile(keyFile, key.pem);
  const { cert, key: certKey } = await (await createAuthority("test")).issue(loopbackNames);
  await writeFile(join(folder, "cert.pem"), cert);
  await writeFile(join(folder, "cert-key.pem"), certKey);
  const [closed] = await findPorts(0);
  const env = {
    MEGURI_SLACK_WEBHOOK_URL: `http://127.0.0.1:${closed}/webhook`,
    MEGURI_AUTH: "jwt",
    MEGURI_JWT_KEY_FILE: keyFile,
    MEGURI_JWT_ISSUER: issuerName,
    MEGURI_JWT_AUDIENCE: audience,
    MEGURI_TLS_CERT_FILE: join(folder, "cert.pem"),
    MEGURI_TLS_KEY_FILE: join(folder, "cert-key.pem"),
  };
  alerts = await startAlertStack({ testClock: true, env }, createMisspelt);
});
afterAll(async () => {
  await alerts?.stop();
  await rm(folder, { recursive: true });
});

/** The alert of old keys, with a part of its ten minutes. */
const keysAreOld = (expressions.MeguriKeysOld ?? "").replace(
  "> 600",
  `> ${inForm({ short: 20, long: 60 })}`,
);

/** Changes a record without a server. */
const tamper = (
  { clients, config }: WorkerStack,
  table: string,
  [pk, sk]: readonly [pk: string, sk: string],
  UpdateExpression: string,
  ExpressionAttributeValues: UpdateItemCommandInput["ExpressionAttributeValues"],
) =>
  clients.retrying.send(
    new UpdateItemCommand({
      TableName: config.tablePrefix + table,
      Key: { pk: { S: pk }, sk: { S: sk } },
      UpdateExpression,
      ExpressionAttributeValues,
    }),
  );

const setZone = (stack: WorkerStack, timeZone: string) =>
  tamper(stack, "points", ["P", "misspelt"], "SET z = :zone", { ":zone": { S: timeZone } });

/** A program in a zone that Node knows by this name, and Temporal does not. */
async function createMisspelt(stack: WorkerStack): Promise<void> {
  const deps = { ...stack.deps, background: () => {} };
  await createProgram(deps, { programId: "misspelt", timeZone: "UTC", lifetimeMonths: 3 });
  await setZone(stack, "asia/tokyo");
}

test("alerts follow what is missed", async () => {
  const { stack, becomes } = alerts;
  const { deps, programId, client } = stack;
  await becomes("MeguriSchedulesMissing", true);
  expect(await alerts.count('meguri_key_age_seconds{keys="jwt"}')).toBe(1);
  expect(await alerts.count(keysAreOld)).toBe(0);
  await writeFile(keyFile, "no key");
  await setZone(stack, "Asia/Tokyo");
  await becomes("MeguriSchedulesMissing", false);

  await becomes("MeguriReportsFail", false);
  await becomes("MeguriWaitsForPeople", false);
  await submit(deps, programId, { id: "waits", userIds: usersOf("waits", 2) });
  await comesTo(stack, "waits", "AWAITING_APPROVAL");
  await becomes("MeguriReportsFail", true);
  const dayAgo = { ":time": { N: String(Date.now() - dayMs - 60_000) } };
  await tamper(stack, "bulk", [`G#${programId}#waits`, "G"], "SET r.t = :time", dayAgo);
  await becomes("MeguriWaitsForPeople", true);

  await becomes("MeguriMonthEndBehind", false);
  await becomes("MeguriMonthEndFailedAccounts", false);
  const grant = { eventId: "e", reason: "", caller: asService("tests"), points: 10 };
  await grantPoints(deps, { ...grant, programId, userId: "damaged", deadline: undefined });
  await tamper(
    stack,
    "accounts",
    [`A#${programId}#damaged`, "A"],
    "SET s = list_append(s, :zero), xm = :old",
    { ":zero": { L: [{ N: "0" }] }, ":old": { N: "1" } },
  );
  await advanceTime(deps, 32 * dayMs);
  await becomes("MeguriMonthEndBehind", true);
  await client.schedule.getHandle(monthEndId(programId)).trigger();
  await becomes("MeguriMonthEndFailedAccounts", true);
  const behind = `meguri_month_end_months_behind{program_id="${programId}"} > 0`;
  await eventually(async () => expect(await alerts.count(behind)).toBe(0), 300_000);

  // The certificate of this test ends in an hour.
  await becomes("MeguriCertificateEnds", true);

  await becomes("MeguriTemporalAway", false);
  alerts.temporal.cut();
  await becomes("MeguriTemporalAway", true);
  alerts.temporal.restore();
  await becomes("MeguriTemporalAway", false);

  await eventually(async () => expect(await alerts.count(keysAreOld)).toBe(1));
  await writeFile(keyFile, key.pem);
  await eventually(async () => expect(await alerts.count(keysAreOld)).toBe(0));
});
