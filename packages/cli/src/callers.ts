/** Shows callers to a person. */

/** The service, or the subject and the service through which it called. */
export const callerText = ({
  service,
  subject,
}: {
  readonly service: string;
  readonly subject: string;
}): string => (subject === service ? service : `${subject} via ${service}`);
