/**
 * Starts DynamoDB Local with its own arguments, but on loopback only: it has no option for that, and
 * would let the whole network read and write the tables. It has no option for a free port either,
 * so the port is that of the system property `port`, and is printed. The records of streams get the
 * indexes that they lack. Java compiles this file when it starts.
 */
import com.almworks.sqlite4java.SQLiteConnection;
import com.almworks.sqlite4java.SQLiteJob;
import com.almworks.sqlite4java.SQLiteQueue;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;

class LoopbackDynamoDb {
  public static void main(String[] arguments) throws Exception {
    var local = ServerRunner.createServerFromCommandLineArgs(arguments);
    var connector = (ServerConnector) ((Server) field(local, "server")).getConnectors()[0];
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.getInteger("port"));
    // Before the database has a thread, which would keep a process alive that has no port.
    connector.open();
    indexStreamRecords(field(field(local, "serverHandler"), "primaryHandler"));
    local.safeStart();
    System.out.println("Listens on port " + connector.getLocalPort());
    local.join();
  }

  /**
   * DynamoDB Local keeps the records of all streams in one table of SQLite, `us`, and looks for the
   * oldest record of a stream with each request to the stream's table. Without an index, a GetItem
   * takes 20 ms longer for 32,000 records of other tables.
   */
  private static void indexStreamRecords(Object handler) throws Exception {
    var open = handler.getClass().getDeclaredMethod("getHandler", String.class);
    open.setAccessible(true);
    // With -sharedDb, all callers have the same database.
    var queue = (SQLiteQueue) field(field(open.invoke(handler, ""), "dbAccess"), "queue");
    var job = new SQLiteJob<Void>() {
      @Override
      protected Void job(SQLiteConnection connection) throws Exception {
        connection.exec("CREATE INDEX IF NOT EXISTS us_stream ON us (StreamID, SequenceNumber)");
        connection.exec("CREATE INDEX IF NOT EXISTS us_shard ON us (ShardID, SequenceNumber)");
        // GetRecords goes on from a sequence number, which is the primary key. SQLite 3.8 would take
        // an index for that too, and read the whole stream, if it expected few records in a stream.
        connection.exec("ANALYZE us");
        connection.exec("DELETE FROM sqlite_stat1");
        connection.exec(
            "INSERT INTO sqlite_stat1 VALUES ('us', 'us_stream', '1000000 1000000 1'),"
                + " ('us', 'us_shard', '1000000 1000000 1')");
        connection.exec("ANALYZE sqlite_master");
        return null;
      }
    };
    queue.execute(job).get();
  }

  private static Object field(Object owner, String name) throws Exception {
    for (Class<?> type = owner.getClass(); ; type = type.getSuperclass()) {
      try {
        var field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
      } catch (NoSuchFieldException exception) {
        if (type.getSuperclass() == null) throw exception;
      }
    }
  }
}
