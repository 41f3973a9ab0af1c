/** The versions of records that tests write as new ones, past the use cases. */

import { versionOf } from "../../../src/feed/rules/unread-group.ts";
import type { Kind, Records } from "../../../src/platform/ports/records.ts";

/** Reactions and unread groups begin with a version of the inbox, all other records with 1. */
export function firstVersion(kind: Kind, value: Records[Kind]): number {
  if (kind === "reaction") {
    const reaction = value as Records["reaction"];
    return "version" in reaction ? reaction.version : 1;
  }
  return kind === "unreadGroup" ? versionOf(value as Records["unreadGroup"]) : 1;
}
