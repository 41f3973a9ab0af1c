/** Compares our signatures of requests to DynamoDB with those of botocore, another signer. */
import { execFile } from "node:child_process";
import { HttpRequest } from "@smithy/core/protocols";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSigner } from "../../src/platform/dynamodb/sdk/signature.ts";
import { findPythonTool } from "../support/deploy/python-tools.ts";

/** Prints the header `authorization` of each request on stdin, one a line. */
const program = `
import json, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

for each in json.load(sys.stdin):
    headers = {"content-type": each["contentType"], "x-amz-target": each["target"]}
    url = "https://" + each["host"] + each["path"]
    request = AWSRequest("POST", url, headers, each["body"].encode())
    request.context["timestamp"] = each["time"]
    keys = Credentials(each["accessKeyId"], each["secretAccessKey"], each.get("sessionToken"))
    auth = SigV4Auth(keys, "dynamodb", each["region"])
    # The steps of add_auth, but for the date, which would be now.
    auth._modify_request_before_signing(request)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    auth._inject_signature_to_request(request, auth.signature(text, request))
    print(request.headers["Authorization"])
`;

const word = (form: string) => fc.stringMatching(new RegExp(`^${form}$`));

const requests = fc.record(
  {
    host: word("[a-z][a-z0-9-]{0,20}[.]test(:[1-9][0-9]{3})?"),
    path: word("/([A-Za-z0-9_~-]|%20|%C3%A9){0,12}"),
    contentType: fc.constantFrom("application/x-amz-json-1.0", "application/x-amz-json-1.1"),
    target: word("DynamoDB_20120810[.][A-Z][A-Za-z]{1,20}"),
    body: fc.string({ unit: "grapheme", maxLength: 200 }),
    date: fc.date({
      min: new Date("2000-01-01"),
      max: new Date("2099-12-31"),
      noInvalidDate: true,
    }),
    accessKeyId: word("[A-Z0-9]{16,20}"),
    secretAccessKey: word("[A-Za-z0-9/+]{40}"),
    sessionToken: word("[A-Za-z0-9/+=]{1,100}"),
    region: fc.constantFrom("eu-central-1", "us-east-1", "us-gov-west-1", "local"),
  },
  {
    requiredKeys: [
      ...(["host", "path", "contentType", "target", "body", "date"] as const),
      ...(["accessKeyId", "secretAccessKey", "region"] as const),
    ],
  },
);

test("500 random requests have the signatures of botocore", async () => {
  const python = await findPythonTool("python-with-botocore");
  const samples = fc.sample(requests, { numRuns: 500, seed: 20_120_810 });
  const ours: string[] = [];
  const asked: object[] = [];
  for (const { date, ...sample } of samples) {
    const { host, path, contentType, target, body, region, ...credentials } = sample;
    const headers = { host, "content-type": contentType, "x-amz-target": target };
    const request = new HttpRequest({ method: "POST", path, headers, body });
    const signer = createSigner({
      credentials: async () => credentials,
      region: async () => region,
    });
    const signed = await signer.sign(request, { signingDate: date });
    ours.push(signed.headers.authorization ?? "");
    asked.push({ ...sample, time: signed.headers["x-amz-date"] });
  }
  const theirs = await ask(python, JSON.stringify(asked));
  expect(ours).toEqual(theirs.trimEnd().split("\n"));
});

/** What the program prints for this input. */
async function ask(python: string, input: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { maxBuffer: 2 ** 24 };
  const child = execFile(python, ["-c", program], options, (error, output) =>
    error ? reject(error) : resolve(output),
  );
  child.stdin?.end(input);
  return await promise;
}
