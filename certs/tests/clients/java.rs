//! Java, which knows neither PEM nor proxy variables.

use std::fs;

use crate::run::{Setup, is_there};

const CLIENT: &str = r#"
import java.net.URI;
import java.net.http.*;
public class Client {
    public static void main(String[] args) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("https://api.example.com/")).build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(response.version() + " " + response.body());
        System.exit(0);
    }
}
"#;

#[test]
fn java_trusts_the_key_store_and_takes_the_proxy() {
    if !is_there("java", "-version") {
        return;
    }
    let home = tempfile::TempDir::new().unwrap();
    // Blanks and quotes in the path must survive the way through one variable.
    let setup = Setup::kept_in(&home.path().join("it's a kit"));
    let source = home.path().join("Client.java");
    fs::write(&source, CLIENT).unwrap();
    let printed = setup.printed("java", &[source.to_str().unwrap()]);
    assert_eq!(printed, "HTTP_2 hello from api.example.com:443\n");
    assert_eq!(setup.targets(), ["api.example.com:443"]);
}

#[test]
fn keytool_finds_the_key_store_whole() {
    if !is_there("keytool", "-help") {
        return;
    }
    let setup = Setup::new();
    let store = setup.kit.dir().join("trust.jks");
    let args = ["-list", "-storepass", "changeit", "-keystore", store.to_str().unwrap()];
    let printed = setup.printed("keytool", &args);
    assert!(printed.contains("wiretape-1, ") && printed.contains("trustedCertEntry"), "{printed}");
}
