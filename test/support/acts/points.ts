/** The scenarios of the audited methods about programs, accounts and jobs. */
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { at } from "../servers/refusal.ts";
import type { TestServer } from "../servers/server.ts";
import { changed, programId, reason, type Scenario } from "./scenario.ts";

/** The program whose bulk rules change: it needs an approval for that. */
const ruled = "ruled";

/** Sets the number of the last entry of an account with one entry to 2. */
async function countOneMore(server: TestServer, userId: string): Promise<void> {
  const TableName = server.table("accounts");
  const Key = { pk: { S: `A#${programId}#${userId}` }, sk: { S: "A" } };
  const { Item } = await server.dynamo.send(new GetItemCommand({ TableName, Key }));
  const command = new PutItemCommand({ TableName, Item: { ...Item, n: { N: "2" } } });
  await server.dynamo.send(command);
}

function programScenarios(server: TestServer): Readonly<Record<string, Scenario>> {
  const propose = (requiredApprovalCount: number) => async () => {
    await server.programs.createProgram({ programId: ruled });
    await server.programs.updateProgram({
      program: { programId: ruled, bulkRules: { requiredApprovalCount } },
      updateMask: { paths: ["bulk_rules"] },
    });
  };
  const digestOfRules = async () =>
    (await server.programs.getProgram({ programId: ruled })).program?.rulesChange?.digest ?? "";
  const program = { objectType: "program", objectId: programId };
  return {
    CreateProgram: {
      program: "new",
      call: ({ programs }, options) => programs.createProgram({ programId: "new" }, options),
      refused: ({ programs }) => programs.createProgram({ programId: "new", timeZone: "Nowhere" }),
      act: {
        objectId: "new",
        changes: expect.arrayContaining([
          expect.objectContaining(changed("lifetime_months", "", "12")),
        ]),
      },
    },
    UpdateProgram: {
      call: ({ programs }, options) =>
        programs.updateProgram({ program: { programId, lifetimeMonths: 24 }, reason }, options),
      refused: ({ programs }) =>
        programs.updateProgram({ program: { programId, lifetimeMonths: 6 } }),
      act: {
        ...{ ...program, reason },
        changes: expect.arrayContaining([
          expect.objectContaining(changed("rules_state", "IN_FORCE", "PROPOSED")),
          expect.objectContaining(changed("proposed_lifetime_months", "12", "24")),
        ]),
      },
    },
    ApproveRulesChange: {
      program: ruled,
      prepare: propose(2),
      call: async ({ programs }, options) =>
        programs.approveRulesChange(
          { programId: ruled, digest: await digestOfRules(), reason },
          options,
        ),
      refused: ({ programs }) =>
        programs.approveRulesChange({ programId: ruled, digest: "d".repeat(43) }),
      act: {
        objectId: ruled,
        reason,
        changes: [
          changed("rules_state", "PROPOSED", "IN_FORCE"),
          changed("rules_approvals", "0", "1"),
        ],
      },
    },
    RejectRulesChange: {
      program: ruled,
      prepare: propose(1),
      call: async ({ programs }, options) =>
        programs.rejectRulesChange(
          { programId: ruled, digest: await digestOfRules(), reason },
          options,
        ),
      refused: ({ programs }) =>
        programs.rejectRulesChange({ programId: ruled, digest: "d".repeat(43) }),
      act: { objectId: ruled, changes: [changed("rules_state", "PROPOSED", "REJECTED")] },
    },
  };
}

const accountScenarios = (server: TestServer): Readonly<Record<string, Scenario>> => ({
  FreezeAccount: {
    call: ({ points }, options) =>
      points.freezeAccount({ programId, userId: "u", eventId: "f", reason }, options),
    refused: ({ points }) => points.freezeAccount({ programId: "none", userId: "u", eventId: "f" }),
    act: {
      ...{ objectType: "account", objectId: "u", userId: "u", reason },
      changes: [changed("frozen", "false", "true")],
    },
  },
  UnfreezeAccount: {
    call: ({ points }, options) =>
      points.unfreezeAccount({ programId, userId: "u", eventId: "t" }, options),
    refused: ({ points }) => points.unfreezeAccount({ programId, userId: "nobody", eventId: "t" }),
    act: { objectId: "u", userId: "u", changes: [changed("frozen", "true", "false")] },
  },
  VerifyAccount: {
    prepare: async () => {
      await server.points.grantPoints({ programId, userId: "wrong", eventId: "g", points: 9n });
      await countOneMore(server, "wrong");
    },
    call: ({ points }, options) =>
      points.verifyAccount({ programId, userId: "wrong", repair: true }, options),
    refused: ({ points }) =>
      points.verifyAccount({ programId: "none", userId: "wrong", repair: true }),
    act: {
      ...{ objectType: "account", objectId: "wrong", userId: "wrong" },
      changes: [changed("last", "2", "1")],
    },
  },
});

const jobScenarios: Readonly<Record<string, Scenario>> = {
  VerifyProgram: {
    call: ({ points }, options) =>
      points.verifyProgram({ programId, jobId: "v", repair: true }, options),
    refused: ({ points }) => points.verifyProgram({ programId: "none", jobId: "v" }),
    act: {
      ...{ objectType: "job", objectId: "verify-program/v" },
      changes: [changed("repair", "", "true")],
    },
  },
  CreateLiabilityReport: {
    call: ({ points }, options) =>
      points.createLiabilityReport(
        { programId, jobId: "l", since: at("2026-11-01T00:00:00Z") },
        options,
      ),
    refused: ({ points }) => points.createLiabilityReport({ programId: "none", jobId: "l" }),
    act: {
      objectId: "liability-report/l",
      changes: [changed("since", "", "2026-11-01T00:00:00.000Z")],
    },
  },
  ExportLedger: {
    call: ({ points }, options) =>
      points.exportLedger(
        {
          programId,
          jobId: "x",
          destination: "audit",
          createTimeBefore: at("2026-11-01T00:00:00Z"),
        },
        options,
      ),
    refused: ({ points }) =>
      points.exportLedger({
        programId,
        jobId: "y",
        destination: "nowhere",
        createTimeBefore: at("2026-11-01T00:00:00Z"),
      }),
    act: {
      objectId: "export-ledger/x",
      changes: expect.arrayContaining([
        expect.objectContaining(changed("destination", "", "audit")),
      ]),
    },
  },
};

export const pointsScenarios = (server: TestServer): Readonly<Record<string, Scenario>> => ({
  ...programScenarios(server),
  ...accountScenarios(server),
  ...jobScenarios,
});
