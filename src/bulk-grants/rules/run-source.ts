/** The source of rows that came in the input of a run: Temporal, by a name that no other has. */
import { parseSource } from "../../platform/words/source-string.ts";

/** The rules of a program name it, as they name configured sources. */
export const runSource = "temporal";

/** Whether rows came in the input of a run, so that no file can be written beside them. */
export const isRunSource = (source: string): boolean => parseSource(source)?.name === runSource;
