/** The form of exported files, by the messages of the contract. */
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { fromAct } from "../../acts/rpc/messages.ts";
import { ActSchema } from "../../gen/meguri/acts/v1/act_pb.ts";
import {
  ExportedEntrySchema,
  type LedgerExportManifest_Part,
  LedgerExportManifest_PartSchema,
  LedgerExportManifestSchema,
} from "../../gen/meguri/points/v1/ledger_export_pb.ts";
import { fromInstant, fromOptionalInstant } from "../../platform/messages/scalars.ts";
import type { ExportedPart, ExportFormat } from "../ports/exports.ts";
import { fromEntry } from "./ledger-entries.ts";

/** As the command prints answers: fields with their default value are there, too. */
const json = { alwaysEmitImplicit: true };

export const exportFormat: ExportFormat = {
  line({ programId, userId }, stored) {
    const entry = fromEntry(stored);
    if (entry.type === undefined || entry.event?.origin === undefined) {
      throw new Error("the contract does not know the type of this entry, or its event's origin");
    }
    const line = create(ExportedEntrySchema, { programId, userId, entry });
    return toJsonString(ExportedEntrySchema, line, json);
  },

  actLine: (act) => toJsonString(ActSchema, create(ActSchema, fromAct(act)), json),

  manifest({ programId, exportId, window: { start, end }, parts, ...manifest }) {
    const message = create(LedgerExportManifestSchema, {
      programId,
      exportId,
      createTimeFrom: fromOptionalInstant(start),
      createTimeBefore: fromInstant(end),
      entryCount: BigInt(manifest.entries),
      parts: parts.map(fromPart),
      actParts: manifest.acts.parts.map(fromPart),
      unreadableActCount: BigInt(manifest.acts.unreadable),
      unreadableActs: [...manifest.acts.unreadables],
      unreadableEntryCount: BigInt(manifest.unreadable),
      unreadableEntries: fromUnreadables(manifest.unreadables),
    });
    return toJsonString(LedgerExportManifestSchema, message, { ...json, prettySpaces: 2 });
  },

  readManifest(text) {
    const message = fromJsonString(LedgerExportManifestSchema, text, { ignoreUnknownFields: true });
    const { programId, exportId, createTimeFrom, createTimeBefore, parts } = message;
    if (!createTimeBefore) throw new Error("a manifest without create_time_before");
    return {
      programId,
      exportId,
      window: {
        start: createTimeFrom && timestampMs(createTimeFrom),
        end: timestampMs(createTimeBefore),
      },
      entries: Number(message.entryCount),
      parts: parts.map(toPart),
      acts: {
        parts: message.actParts.map(toPart),
        unreadable: Number(message.unreadableActCount),
        unreadables: message.unreadableActs,
      },
      unreadable: Number(message.unreadableEntryCount),
      unreadables: message.unreadableEntries.map(({ userId, number }) => ({
        userId,
        number: Number(number),
      })),
    };
  },
};

const fromPart = ({ name, entries, bytes, sha256 }: ExportedPart) =>
  create(LedgerExportManifest_PartSchema, {
    ...{ name, sha256 },
    entryCount: BigInt(entries),
    byteCount: BigInt(bytes),
  });

const toPart = (part: LedgerExportManifest_Part): ExportedPart => ({
  name: part.name,
  entries: Number(part.entryCount),
  bytes: Number(part.byteCount),
  sha256: part.sha256,
});

export const fromUnreadables = (
  entries: readonly { readonly userId: string; readonly number: number }[],
) => entries.map(({ userId, number }) => ({ userId, number: BigInt(number) }));
