// Prints what protobuf-go says of JSON: reads lines of {"type", "json"}, the latter in base64, and
// writes for each a line with the message in base64, or null when it is refused. The argument is the
// file with the descriptors of the protos.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type input struct {
	Type protoreflect.FullName `json:"type"`
	JSON []byte                `json:"json"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(must(os.ReadFile(os.Args[1])), &set); err != nil {
		panic(err)
	}
	files := must(protodesc.NewFiles(&set))
	lines := bufio.NewScanner(os.Stdin)
	verdicts := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var in input
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			panic(err)
		}
		desc := must(files.FindDescriptorByName(in.Type)).(protoreflect.MessageDescriptor)
		message := dynamicpb.NewMessage(desc)
		var verdict any
		if protojson.Unmarshal(in.JSON, message) == nil {
			verdict = must(proto.Marshal(message))
		}
		if err := verdicts.Encode(verdict); err != nil {
			panic(err)
		}
	}
}
