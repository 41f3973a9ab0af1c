/** Tests that the client refuses the texts that would arrive as others, and no others. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkTexts } from "../../packages/client/src/well-formed.ts";
import { GrantPointsRequestSchema } from "../../src/gen/meguri/points/v1/points_service_pb.ts";

/** Any UTF-16 code units, half of them surrogates. */
const units = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.integer({ min: 0xd800, max: 0xdfff }),
);
const anyText = fc.array(units, { maxLength: 6 }).map((codes) => String.fromCharCode(...codes));

test("a text is refused if it does not survive its encoding", () => {
  fc.assert(
    fc.property(anyText, (reason) => {
      const request = create(GrantPointsRequestSchema, { reason });
      const bytes = toBinary(GrantPointsRequestSchema, request);
      const survives = fromBinary(GrantPointsRequestSchema, bytes).reason === reason;
      const check = () => checkTexts(GrantPointsRequestSchema, { reason });
      if (survives) expect(check).not.toThrow();
      else expect(check).toThrow("reason: has half a surrogate pair, which is no character");
    }),
  );
});

test.each([undefined, null, "text", {}, { reason: 5, points: "1" }])(
  "%j is left to the encoder",
  (request) => {
    expect(() => checkTexts(GrantPointsRequestSchema, request)).not.toThrow();
  },
);
