/** Progress bars on a terminal. */
import { SingleBar } from "cli-progress";
import type { Io } from "./io.ts";

/** Makes a bar of this format on standard output, which has to be a terminal. */
export const createBar = ({ stdout }: Io, format: string): SingleBar =>
  new SingleBar({
    stream: stdout as NodeJS.WriteStream,
    format,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    hideCursor: true,
    // The command handles signals itself.
    gracefulExit: false,
  });
