/**
 * Starts DynamoDB Local with its own arguments, but on loopback only: it has no option for that, and
 * would let the whole network read and write the tables. It has no option for a free port either,
 * so the port is that of the system property `port`, and is printed. Java compiles this file when
 * it starts.
 */
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;

class LoopbackDynamoDb {
  public static void main(String[] arguments) throws Exception {
    var local = ServerRunner.createServerFromCommandLineArgs(arguments);
    var server = local.getClass().getDeclaredField("server");
    server.setAccessible(true);
    var connector = (ServerConnector) ((Server) server.get(local)).getConnectors()[0];
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.getInteger("port"));
    local.safeStart();
    System.out.println("Listens on port " + connector.getLocalPort());
    local.join();
  }
}
