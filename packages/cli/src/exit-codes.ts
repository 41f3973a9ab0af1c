/** The exit codes of the command. Scripts use them, so that no number may change its meaning. */

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  notFound: 3,
  notPermitted: 4,
  retryable: 5,
  interrupted: 130,
} as const;

/** The codes as the help texts explain them. */
export const exitCodesHelp = `Exit codes:
  0    done
  1    refused, or a check has found something; the message has the reason
  2    wrong arguments or configuration; nothing was sent
  3    what the arguments name does not exist
  4    not permitted: no valid identity, or no permission
  5    no definite answer; the same command, with the same ids, can be repeated
  130  interrupted by Ctrl-C`;
