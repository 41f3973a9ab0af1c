/** The command that prints an empty sheet. */
import { type AddCommand, examples } from "./action.ts";

/** The names of the columns. The byte order mark tells Excel that it is UTF-8. */
const header = "user_id,points,reason\r\n";
const byteOrderMark = "\uFEFF";

export const addTemplate: AddCommand = (parent, inSession) => {
  parent
    .command("template")
    .summary("print a sheet to be filled in")
    .description("Prints a sheet with the names of the columns, to be filled in by any program.")
    .addHelpText("after", examples("meguri bulk template > sheet.csv"))
    .action(
      inSession(({ out }) =>
        out.value({ csv: header }, out.isTerminal ? header : byteOrderMark + header),
      ),
    );
};
