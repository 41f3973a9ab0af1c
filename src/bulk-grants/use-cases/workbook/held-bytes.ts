/** Limits what the workbooks hold that a process reads at a time: their files and their texts. */

import { DomainError } from "../../../platform/words/errors.ts";
import { Quota } from "../../../platform/work/quota.ts";
import { maxSheetBytes } from "../../rules/sheet.ts";

/** A sender holds one of the largest workbooks, with as many bytes of texts as of the file. */
const limits = { perHolder: 2 * maxSheetBytes, total: 4 * maxSheetBytes };

const quota = new Quota<string>(limits);

/** The bytes that one workbook holds. */
export interface HeldBytes {
  /** Throws OVERLOADED above the share of the sender, or above what all may hold. */
  add(bytes: number): void;
  release(): void;
}

export function holdBytes(sender: string): HeldBytes {
  let held = 0;
  return {
    add(bytes) {
      if (!quota.take(sender, bytes)) {
        throw new DomainError(
          "OVERLOADED",
          `workbooks of ${sender || "one sender"}, or of all, hold as many bytes as may be held`,
        );
      }
      held += bytes;
    },
    release() {
      quota.release(sender, held);
      held = 0;
    },
  };
}
