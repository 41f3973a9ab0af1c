/** Maps callers to messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallerSchema } from "../../gen/meguri/access/v1/caller_pb.ts";
import type { Caller } from "../words/caller.ts";

/** The message of a caller. Undefined for what Meguri does by itself, such as an expiry. */
export const fromCaller = ({
  service,
  subject,
}: Caller): MessageInitShape<typeof CallerSchema> | undefined =>
  service === "" ? undefined : { service, subject };
