/** Maps callers from the domain to messages: who did something. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import type { CallerSchema } from "../../gen/meguri/access/v1/caller_pb.ts";

/** The message of a caller. Undefined for what Meguri does by itself, such as an expiry. */
export const fromCaller = ({
  service,
  subject,
}: Caller): MessageInitShape<typeof CallerSchema> | undefined =>
  service === "" ? undefined : { service, subject };
