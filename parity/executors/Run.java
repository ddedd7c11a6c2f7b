import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Executes FOLDER/model.onnx on the .npy files of FOLDER/runs/N/in, and writes what comes out beside them. */
public final class Run {
  private static final Map<String, OnnxJavaType> TYPES =
      Map.of(
          "<f4", OnnxJavaType.FLOAT,
          "<f8", OnnxJavaType.DOUBLE,
          "<i4", OnnxJavaType.INT32,
          "<i8", OnnxJavaType.INT64,
          "|i1", OnnxJavaType.INT8,
          "|u1", OnnxJavaType.UINT8,
          "|b1", OnnxJavaType.BOOL);
  private static final String SUFFIX = ".npy";
  /** Magic, version, and the length of the header in two bytes: format 1.0. */
  private static final int PREFIX = 10;

  public static void main(String[] args) throws IOException, OrtException {
    Path folder = Path.of(args[0]);
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    String model = folder.resolve("model.onnx").toString();
    OrtSession.SessionOptions options = new OrtSession.SessionOptions();
    // Errors: it warns of every state that has a value to begin with.
    options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
    try (OrtSession session = environment.createSession(model, options)) {
      // What the output x.next of one run is, the input x of the next one is: the file of x.next, too.
      Path before = null;
      for (Path run : filesIn(folder.resolve("runs"))) {
        Map<String, OnnxTensor> feeds = new HashMap<>();
        for (Path file : filesIn(run.resolve("in"))) {
          String name = nameOf(file);
          Path next = before == null ? file : before.resolve(fileOf(name + ".next"));
          feeds.put(name, read(environment, Files.exists(next) ? next : file));
        }
        Path out = Files.createDirectories(run.resolve("out"));
        try (OrtSession.Result results = session.run(feeds)) {
          for (Map.Entry<String, OnnxValue> result : results) {
            write(out.resolve(fileOf(result.getKey())), (OnnxTensor) result.getValue());
          }
        }
        feeds.values().forEach(OnnxTensor::close);
        before = out;
      }
    }
  }

  private static List<Path> filesIn(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      Comparator<Path> byNumber = Comparator.comparing(file -> file.toString().length());
      return files.sorted(byNumber.thenComparing(Comparator.naturalOrder())).collect(Collectors.toList());
    }
  }

  private static String fileOf(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20") + SUFFIX;
  }

  private static String nameOf(Path file) {
    String name = file.getFileName().toString();
    String escaped = name.substring(0, name.length() - SUFFIX.length()).replace("+", "%2B");
    return URLDecoder.decode(escaped, StandardCharsets.UTF_8);
  }

  private static OnnxTensor read(OrtEnvironment environment, Path file) throws IOException, OrtException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int length = Short.toUnsignedInt(bytes.getShort(PREFIX - 2));
    String header = new String(bytes.array(), PREFIX, length, StandardCharsets.US_ASCII);
    Matcher fields = Pattern.compile("'descr': '(...)'.*'shape': \\(([^)]*)\\)").matcher(header);
    if (!fields.find()) throw new IOException(file + ": " + header);
    long[] shape =
        Arrays.stream(fields.group(2).split(","))
            .map(String::strip)
            .filter(extent -> !extent.isEmpty())
            .mapToLong(Long::parseLong)
            .toArray();
    int start = PREFIX + length;
    ByteBuffer elements = ByteBuffer.allocateDirect(bytes.capacity() - start).order(ByteOrder.nativeOrder());
    elements.put(bytes.array(), start, bytes.capacity() - start).rewind();
    return OnnxTensor.createTensor(environment, elements, shape, TYPES.get(fields.group(1)));
  }

  private static void write(Path file, OnnxTensor tensor) throws IOException {
    TensorInfo info = tensor.getInfo();
    String type =
        TYPES.entrySet().stream()
            .filter(entry -> entry.getValue() == info.type)
            .map(Map.Entry::getKey)
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("no .npy file holds " + info.type));
    // A tuple of one has a comma behind it.
    String shape = LongStream.of(info.getShape()).mapToObj(extent -> extent + ",").collect(Collectors.joining(" "));
    String text = String.format("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    int length = (PREFIX + text.length() + 1 + 63) / 64 * 64 - PREFIX;
    ByteBuffer elements = tensor.getByteBuffer();
    ByteBuffer bytes = ByteBuffer.allocate(PREFIX + length + elements.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put((byte) 0x93).put("NUMPY".getBytes(StandardCharsets.US_ASCII)).put((byte) 1).put((byte) 0);
    bytes.putShort((short) length);
    bytes.put((text + " ".repeat(length - text.length() - 1) + "\n").getBytes(StandardCharsets.US_ASCII));
    bytes.put(elements);
    Files.write(file, bytes.array());
  }
}
