import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

// Answers writes the rows of answers.tsv.gz. It reads lines of a pattern and any
// number of texts, each in base64 and separated by tabs, and writes each line
// with one more field in front: "t" or "f" for each text (whether the pattern is
// found in it), or "error" if the pattern is none.
public class Answers {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line; (line = in.readLine()) != null; ) {
            String[] fields = line.split("\t", -1);
            out.println(answer(fields) + "\t" + line);
        }
        out.flush();
    }

    static String answer(String[] fields) {
        Pattern pattern;
        try {
            pattern = Pattern.compile(decode(fields[0]));
        } catch (PatternSyntaxException e) {
            return "error";
        }
        var answer = new StringBuilder();
        for (int i = 1; i < fields.length; i++) {
            answer.append(pattern.matcher(decode(fields[i])).find() ? 't' : 'f');
        }
        return answer.toString();
    }

    static String decode(String field) {
        return new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8);
    }
}
